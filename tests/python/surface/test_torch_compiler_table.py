# SPDX-License-Identifier: BSD-3-Clause
"""docs/torch_compiler.md says of each name of torch.compiler and of each
setting of torch._dynamo whether magneto follows it; these are all there are.
"""

import re

import pytest
import torch
import torch._dynamo

from magneto import heard_settings
from support.paths import ROOT
from support.releases import MINOR

PAGE = ROOT / "docs" / "torch_compiler.md"
ROW = re.compile(
    r"\| `(\w+)` \| ([a-z ]+) \| "
    r"(?:(since|until) PyTorch 2\.(\d+): )?(.+) \|"
)
STATES = {"heard", "not needed", "not yet"}


def table(title):
    """Names, with what is said of them."""
    text = PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    found = [ROW.fullmatch(line) for line in rows]
    assert all(found), [row for row, match in zip(rows, found) if not match]
    names = [match[1] for match in found]
    assert len(set(names)) == len(names)
    return {match[1]: (match[2], match[5]) for match in found if has_row(match)}


def has_row(match):
    """Whether the running release has that name."""
    if match[3] is None:
        return True
    minor = int(match[4])
    return MINOR >= minor if match[3] == "since" else MINOR <= minor


NAMES = {
    "torch.compiler": torch.compiler.__all__,
    "torch.compiler.config": torch.compiler.config._config,
    "torch._dynamo.config": torch._dynamo.config._config,
}


@pytest.mark.parametrize("title", NAMES)
def test_each_name_is_in_the_table_and_no_other(title):
    assert sorted(table(title)) == sorted(NAMES[title])


@pytest.mark.parametrize("title", NAMES)
def test_each_name_has_a_state_and_what_isnt_heard_a_reason(title):
    for name, (state, why) in table(title).items():
        assert state in STATES, name
        assert state == "heard" or len(why) > 5, name


def aliases():
    entries = torch._dynamo.config._config
    return {
        name: entry.alias.rpartition(".")[2]
        for name, entry in entries.items()
        if entry.alias
    }


def test_what_is_heard_is_what_the_code_hears():
    by_magneto = {
        aliases().get(name, name)
        for name, (state, why) in table("torch._dynamo.config").items()
        if state == "heard" and not why.startswith("by ")
    }
    assert by_magneto == heard_settings.HEARD


def test_settings_of_torch_compiler_are_as_those_of_dynamo():
    dynamo = table("torch._dynamo.config")
    for name, (state, _) in table("torch.compiler.config").items():
        if name in dynamo:
            assert dynamo[name][0] == state, name


def test_defaults_are_those_of_the_installed_torch():
    for name, default in heard_settings._THEIR_DEFAULTS.items():
        entry = torch._dynamo.config._config[name]
        expected = set(default) if isinstance(default, frozenset) else default
        assert entry.default == expected, name


def test_names_of_logs_are_torchs():
    artifacts = torch._logging._internal.log_registry.artifact_names
    text = PAGE.read_text().split("set_logs()` | heard |")[1].splitlines()[0]
    named = set(re.findall(r"`([a-z_]+)`", text))
    from magneto import logs

    assert named == logs.ARTIFACTS & artifacts
