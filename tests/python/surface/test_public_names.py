# SPDX-License-Identifier: BSD-3-Clause
"""What users see: names, docstrings, settings, stubs."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import types
from pathlib import Path

import pytest
import torch

import magneto
from magneto import _C

PACKAGE = Path(magneto.__file__).parent
FUNCTIONS = [
    name
    for name in magneto.__all__
    if inspect.isfunction(getattr(magneto, name))
]
ERRORS = [
    name
    for name, value in vars(magneto.exc).items()
    if isinstance(value, type) and issubclass(value, (Exception, Warning))
]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(PACKAGE)], "magneto.")
    if "__main__" not in module.name and "._C" not in module.name
)


def test_everything_public_is_there():
    assert sorted(magneto.__all__) == magneto.__all__
    for name in magneto.__all__:
        assert getattr(magneto, name) is not None
        if name not in ("config", "exc"):
            assert name in magneto.__dict__ or name in magneto._LAZY
    with pytest.raises(AttributeError, match="no attribute 'nothing_such'"):
        magneto.nothing_such  # noqa: B018


def test_dir_lists_what_is_loaded_later():
    assert set(magneto.__all__) <= set(dir(magneto))


def section(doc, title):
    """The indented text below `title`, or ""."""
    lines = inspect.cleandoc(doc).splitlines()
    if title not in lines:
        return ""
    rest = lines[lines.index(title) + 1 :]
    end = next(
        (i for i, line in enumerate(rest) if line and line[0] != " "), len(rest)
    )
    return "\n".join(rest[:end])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_documented_and_typed(name):
    function = getattr(magneto, name)
    doc = function.__doc__
    assert doc
    assert doc.strip()
    signature = inspect.signature(function)
    arguments = section(doc, "Args:")
    for parameter in signature.parameters.values():
        assert parameter.annotation is not parameter.empty, parameter
        assert f"    {parameter.name}: " in f"\n{arguments}", parameter
    assert signature.return_annotation is not signature.empty
    if signature.return_annotation not in ("None", "bool"):
        assert "Returns:" in doc
    raises = "raise " in inspect.getsource(function)
    assert not raises or "Raises:" in doc


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_when_they_are_raised(name):
    error = getattr(magneto.exc, name)
    assert error.__doc__
    assert error.__doc__ != error.__base__.__doc__
    if issubclass(error, Warning):
        assert issubclass(error, magneto.exc.MagnetoWarning)
    elif error.__module__ == "magneto.exc":
        assert issubclass(error, magneto.exc.MagnetoError)


def test_settings_are_documented_and_typed():
    body = ast.parse((PACKAGE / "config.py").read_text()).body
    settings = {
        node.target.id: following
        for node, following in zip(body, body[1:], strict=False)
        if isinstance(node, ast.AnnAssign)
    }
    public = {
        name
        for name, value in vars(magneto.config).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert settings.keys() == public
    for name, following in settings.items():
        assert isinstance(following, ast.Expr), name
        assert isinstance(following.value.value, str), name


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    assert module.__doc__
    found = doctest.DocTestFinder().find(module, name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in found:
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_the_main_functions_have_examples():
    for function in (magneto.compile, magneto.explain, magneto.disable):
        assert ">>> " in function.__doc__


# -- the stub of the extension -------------------------------------------------

STUB = ast.parse((PACKAGE / "_C.pyi").read_text()).body


def stub_names(body):
    names = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = node
    return names


def test_stub_and_extension_have_the_same_names():
    public = {name for name in dir(_C) if not name.startswith("__")}
    assert stub_names(STUB).keys() == public


CLASSES = [name for name, value in vars(_C).items() if isinstance(value, type)]


@pytest.mark.parametrize("name", CLASSES)
def test_stubs_of_classes_name_their_attributes(name):
    cls = getattr(_C, name)
    stub = stub_names(STUB)[name]
    public = {n for n in vars(cls) if not n.startswith("_")}
    stubbed = {n for n in stub_names(stub.body) if not n.startswith("_")}
    assert stubbed == public
    assert ast.get_docstring(stub)
    assert cls.__doc__


@pytest.mark.parametrize(
    "name", [n for n, v in vars(_C).items() if inspect.isbuiltin(v)]
)
def test_functions_of_the_extension_have_the_stubs_parameters(name):
    function = getattr(_C, name)
    assert function.__doc__
    arguments = stub_names(STUB)[name].args
    expected = [
        argument.arg for argument in arguments.posonlyargs + arguments.args
    ]
    assert list(inspect.signature(function).parameters) == expected


# -- torch.compile's arguments (A4) --------------------------------------------


def test_compile_takes_torch_compiles_arguments():
    ours = inspect.signature(magneto.compile).parameters
    theirs = inspect.signature(torch.compile).parameters
    # What PyTorch 2.13 calls shapes_spec is dynamic_shapes from 2.14 on.
    renamed = {"shapes_spec", "dynamic_shapes"}
    assert [n for n in ours if n in theirs] == list(theirs)
    assert set(ours) - set(theirs) < renamed
    for name, parameter in theirs.items():
        assert ours[name].kind == parameter.kind
        assert ours[name].default == parameter.default


def graphs_of(call, *inputs):
    before = magneto.stats()["graphs"]
    for x in inputs:
        call(x)
    return magneto.stats()["graphs"] - before


SIZES = [torch.ones(n) for n in (2, 3, 4, 5)]


def test_recompile_limit_of_one_call():
    def f(x):
        return x + 1

    few = magneto.compile(f, backend="eager", recompile_limit=2, dynamic=False)
    with pytest.warns(magneto.exc.RecompileLimitWarning, match="2 times"):
        assert graphs_of(few, *SIZES) == 2
    many = magneto.compile(f, backend="eager", dynamic=False)
    assert graphs_of(many, *SIZES) == 4
    strict = magneto.compile(
        f, backend="eager", recompile_limit=1, fullgraph=True, dynamic=False
    )
    strict(SIZES[0])
    with pytest.raises(magneto.exc.RecompileLimitExceeded, match="1 times"):
        strict(SIZES[1])


def test_isolated_calls_share_nothing():
    def f(x):
        return x + 1

    def compiled(**arguments):
        return magneto.compile(f, backend="eager", **arguments)

    assert graphs_of(compiled(), SIZES[0]) == 1
    assert graphs_of(compiled(name="mine"), SIZES[0]) == 0
    one = compiled(isolate_recompiles=True)
    assert graphs_of(one, SIZES[0], SIZES[0]) == 1
    assert graphs_of(compiled(isolate_recompiles=True), SIZES[0]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": 3}, "name must be None or a str"),
        ({"recompile_limit": 0}, "recompile_limit must be None or a positive"),
        (
            {"recompile_limit": "8"},
            "recompile_limit must be None or a positive",
        ),
        ({"isolate_recompiles": 1}, "isolate_recompiles must be a bool"),
        ({"shapes_spec": {}}, "shapes_spec isn't supported"),
        ({"dynamic_shapes": {}}, "dynamic_shapes isn't supported"),
    ],
)
def test_wrong_types_are_one_line_errors(arguments, message):
    with pytest.raises(TypeError, match=message) as caught:
        magneto.compile(len, backend="eager", **arguments)
    assert "\n" not in str(caught.value)
