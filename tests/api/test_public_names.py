"""What the package exports is decided here, not by accident."""

import ast
from pathlib import Path
from types import ModuleType

import escrowmq
from escrowmq import _core, errors


def test_all_names_what_is_there_and_nothing_else() -> None:
    submodules = {name for name, value in vars(escrowmq).items() if isinstance(value, ModuleType)} - {"errors"}
    public = {name for name in vars(escrowmq) if not name.startswith("_")} - submodules
    assert public == set(escrowmq.__all__)
    assert escrowmq.__all__ == sorted(escrowmq.__all__, key=lambda name: (not name[0].isupper(), name))


def test_every_native_name_is_public() -> None:
    native = {name for name in vars(_core) if not name.startswith("_")}
    assert native == set(escrowmq.__all__) - {"errors"}


def test_every_error_is_exported_by_its_module() -> None:
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.EscrowError)
    }
    assert defined == set(errors.__all__)


def test_every_public_name_is_documented_in_the_stub() -> None:
    stub = ast.parse((Path(escrowmq.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
    for node in ast.walk(stub):
        if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and not node.name.startswith("__")):
            assert ast.get_docstring(node), node.name
