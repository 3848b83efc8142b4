"""A small file that is replaced as a whole: after a crash it holds what it held before, or what it was to hold."""

import os
import tempfile
from pathlib import Path


class DurableFile:
    """Text at a path; written beside it, synced, and renamed into place."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> bytes | None:
        """What it holds; None where there is none."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def write(self, content: bytes) -> None:
        """Replaces what it holds; on disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, beside = tempfile.mkstemp(prefix=f".{self.path.name}-", dir=self.path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(beside).replace(self.path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
        self._sync_folder()

    def _sync_folder(self) -> None:
        """The new name is durable only with its folder."""
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
