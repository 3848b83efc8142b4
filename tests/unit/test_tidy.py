"""House rules that no other tool checks."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


# What make, the tools and an editor leave behind.
BUILT = {"target", "__pycache__", "node_modules", "corpus", "artifacts"}


def written(*suffixes: str) -> list[Path]:
    """The project's own files."""
    paths = (path for path in ROOT.rglob("*") if path.suffix in suffixes and path.is_file())
    return sorted(path for path in paths if not any(is_built(part) for part in path.relative_to(ROOT).parts))


def is_built(name: str) -> bool:
    """Whether a folder is none of the project's own; hidden ones are not."""
    return name in BUILT or (name.startswith(".") and name != ".ci")


def test_every_module_opens_by_saying_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in written(".rs", ".py", ".pyi")
        if not path.read_text(encoding="utf-8").removeprefix("#![no_main]\n").lstrip().startswith(("//!", '"""', "#!/"))
    ]
    assert silent == []


@pytest.mark.parametrize("page", written(".md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_no_text_has_trailing_spaces_or_tabs_for_spaces() -> None:
    texts = written(".rs", ".py", ".pyi", ".md", ".toml")
    assert [
        path.name for path in texts if re.search(r"[ \t]$|\t", path.read_text(encoding="utf-8"), re.MULTILINE)
    ] == []


def test_make_help_lists_what_a_person_may_call() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ["setup", "build", "check", "test", "crash", "fuzz", "bench", "interop", "run", "clean", "help"]:
        assert f"make {target} " in listed
