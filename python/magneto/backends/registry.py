# SPDX-License-Identifier: BSD-3-Clause
"""Names, modes and options of backends."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from magneto.exc import InvalidBackend, InvalidOptions

Backend = Callable[..., Any]

# PyTorch's own names, which are accepted without asking it: the question costs
# a second, the time to import torch._dynamo.
_KNOWN_NAMES = frozenset(
    {
        "aot_eager",
        "aot_eager_decomp_partition",
        "aot_eager_default_partitioner",
        "aot_ts",
        "cudagraphs",
        "eager",
        "eager_debug",
        "eager_noexcept",
        "inductor",
        "openxla",
        "pre_dispatch_eager",
        "tvm",
    }
)


class NamedBackend:
    """A backend that PyTorch has registered, resolved when it is first called.

    Two with the same name, mode and options are equal, so what one of them
    compiled may be used for the other.
    """

    def __init__(
        self,
        name: str,
        mode: str | None = None,
        options: dict[str, Any] | None = None,
        dynamic: bool | None = None,
    ) -> None:
        self.compiler_name = name
        self.__name__ = name
        self.mode = None if mode == "default" else mode
        self.options = dict(options or {})
        self.dynamic = dynamic
        self._function: Backend | None = None
        if self.mode or self.options:
            self.resolve()  # wrong ones are an error at once

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        """Compiles a GraphModule, as any backend does."""
        return self.resolve()(gm, example_inputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedBackend) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.compiler_name, self.mode, self.dynamic))

    def __repr__(self) -> str:
        return f"<backend {self.compiler_name!r}>"

    def _key(self) -> tuple[Any, ...]:
        return self.compiler_name, self.mode, self.options, self.dynamic

    def resolve(self) -> Backend:
        """The function that compiles. Imports what it needs."""
        if self._function is None:
            if self.compiler_name == "inductor":
                self._function = self._inductor()
            else:
                function = _registered(self.compiler_name)
                self._function = with_keywords(
                    function, self.mode, self.options
                )
        return self._function

    def reset(self) -> None:
        """Drops what the backend keeps between compilations, if it does."""
        reset = getattr(self._function, "reset", None)
        if callable(reset):
            reset()

    def _inductor(self) -> Backend:
        import torch

        options = dict(self.options)
        use_aoti = options.pop("use_aoti", False)
        _check_inductor_options(self.mode, options, self.dynamic)
        wrapper = (
            torch._TorchCompileAOTInductorWrapper
            if use_aoti
            else torch._TorchCompileInductorWrapper
        )
        try:
            return wrapper(self.mode, options, self.dynamic)
        except RuntimeError as error:
            raise InvalidOptions(f"backend 'inductor': {error}") from None


def _check_inductor_options(
    mode: str | None, options: dict[str, Any], dynamic: bool | None
) -> None:
    """PyTorch's message lists some thousand names; ours says which is meant."""
    if mode:
        import torch._inductor

        modes = torch._inductor.list_mode_options(dynamic=dynamic)
        if mode not in modes:
            raise InvalidOptions(
                f"backend 'inductor' has no mode {mode!r}; its modes are "
                f"{', '.join(sorted(modes))}"
            )
    if not options:
        return
    from torch._inductor import config

    known = config.get_config_copy()
    for key in options:
        if key.replace("-", "_") not in known:
            close = difflib.get_close_matches(key, known, 1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise InvalidOptions(
                f"backend 'inductor' has no option {key!r}; {meant}"
                "torch._inductor.list_options() lists them all"
            )


def with_keywords(
    backend: Backend, mode: str | None, options: dict[str, Any] | None
) -> Backend:
    """`backend` with `mode` and `options` passed on, where they were given."""
    keywords: dict[str, Any] = {}
    if mode and mode != "default":
        keywords["mode"] = mode
    if options:
        keywords["options"] = dict(options)
    return _WithKeywords(backend, keywords) if keywords else backend


class _WithKeywords:
    def __init__(self, backend: Backend, keywords: dict[str, Any]) -> None:
        self.backend = backend
        self.keywords = keywords
        self.__name__ = getattr(backend, "__name__", type(backend).__name__)

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        return self.backend(gm, example_inputs, **self.keywords)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _WithKeywords)
            and self.backend == other.backend
            and self.keywords == other.keywords
        )

    def __hash__(self) -> int:
        return hash(self.backend)

    def reset(self) -> None:
        reset = getattr(self.backend, "reset", None)
        if callable(reset):
            reset()


def _registered(name: str) -> Backend:
    from torch._dynamo.backends import registry
    from torch._dynamo.exc import InvalidBackend as Unknown

    try:
        return registry.lookup_backend(name)
    except Unknown:
        raise _unknown(name, registry.list_backends(None)) from None


def _unknown(name: str, names: list[str]) -> InvalidBackend:
    close = difflib.get_close_matches(name, names, 1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return InvalidBackend(
        f"there is no backend {name!r}; {meant}"
        "magneto.backends.list_backends() lists those that there are"
    )


_without_options: dict[tuple[str, bool | None], NamedBackend] = {}


def lookup_backend(
    backend: str | Backend,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    dynamic: bool | None = None,
) -> Backend:
    """The callable that `backend`, `mode` and `options` of `compile()` mean.

    A callable without mode and options is returned as it is. The same name
    without mode and options always gives the same object.

    Raises:
        InvalidBackend: `backend` is neither a callable nor a known name.
        InvalidOptions: the backend has no such mode or option.

    """
    if mode is not None and not isinstance(mode, str):
        raise InvalidOptions(f"mode must be a str, not {type(mode).__name__}")
    if options is not None and not isinstance(options, dict):
        raise InvalidOptions(
            f"options must be a dict, not {type(options).__name__}"
        )
    if mode is not None and options:
        raise InvalidOptions("give either mode or options, not both")
    if not isinstance(backend, str):
        if not callable(backend):
            raise InvalidBackend(
                "backend must be a name or a callable, not "
                f"{type(backend).__name__}"
            )
        return with_keywords(backend, mode, options)
    if backend not in _KNOWN_NAMES:
        _registered(backend)  # raises when there is none
    if (mode and mode != "default") or options:
        return NamedBackend(backend, mode, options, dynamic)
    key = (backend, dynamic)
    if key not in _without_options:
        _without_options[key] = NamedBackend(backend, dynamic=dynamic)
    return _without_options[key]


def list_backends(
    exclude_tags: tuple[str, ...] = ("debug", "experimental"),
) -> list[str]:
    """The names of the backends that PyTorch has registered.

    Args:
        exclude_tags: leaves out those that have one of these tags.

    Returns:
        Names that `compile(backend=...)` takes, sorted.

    """
    from torch._dynamo.backends import registry

    return registry.list_backends(exclude_tags)


def reset_backends() -> None:
    """Calls `reset()` of every named backend that was used."""
    for backend in _without_options.values():
        backend.reset()
