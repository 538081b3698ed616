"""Questions to git about the history of files; nothing here changes a repository."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

# Replacement refs can show other content under an old commit id, so they are switched off.
_GIT = ("git", "--no-replace-objects", "-c", "core.quotePath=false")


@dataclass(frozen=True)
class NoHistory:
    """Why there is no usable history, as one sentence."""
    reason: str


@dataclass(frozen=True)
class History:
    """All commits that lead to HEAD in the repository at ``root``."""
    root: Path
    head: str

    def relative(self, path: Path) -> str | None:
        """The path as git names it, or None when it lies outside the repository."""
        resolved = Path(path).resolve()
        if not resolved.is_relative_to(self.root):
            return None
        return resolved.relative_to(self.root).as_posix()

    def exists(self, commit: str) -> bool:
        """Whether a commit of this id is in the repository, reachable from HEAD or not."""
        return _run(self.root, "cat-file", "-e", f"{commit}^{{commit}}").returncode == 0

    def commits(self, pathspecs: Iterable[str], after: str | None = None) -> list[str]:
        """Commits that touch any of the paths, oldest first, side branches included.

        Args:
            pathspecs: git pathspecs relative to the root (see ``literal`` and ``below``).
            after: leave out this commit and its ancestors.
        """
        reach = f"{after}..{self.head}" if after else self.head
        return self._lines("rev-list", "--full-history", "--topo-order", "--reverse", reach,
                           "--", *pathspecs)

    def descendants(self, commit: str) -> set[str]:
        """The commits between a commit and HEAD that contain it, itself left out."""
        return set(self._lines("rev-list", "--ancestry-path", f"{commit}..{self.head}"))

    def contents(self, commit: str, paths: Sequence[str]) -> list[bytes | None]:
        """Each file's bytes in a commit, None where the commit has no such file."""
        request = "".join(f"{commit}:{path}\n" for path in paths).encode()
        output = _run(self.root, "cat-file", "--batch", stdin=request).stdout
        contents, at = [], 0
        for _ in paths:
            end = output.index(b"\n", at)
            header = output[at:end].split()
            at = end + 1
            if header[-1] == b"missing":
                contents.append(None)
                continue
            size = int(header[-1])
            contents.append(output[at:at + size] if header[-2] == b"blob" else None)
            at += size + 1
        return contents

    def digests(self, commit: str, paths: Sequence[str]) -> list[str | None]:
        """Each file's sha256 in a commit, None where the commit has no such file."""
        return [None if content is None else hashlib.sha256(content).hexdigest()
                for content in self.contents(commit, paths)]

    def first_with(self, digests: dict[str, str], after: str | None = None) -> str | None:
        """The first commit in which every path has the given sha256.

        Args:
            digests: sha256 by path relative to the root.
            after: leave out this commit and its ancestors.
        """
        paths = list(digests)
        for commit in self.commits(map(literal, paths), after):
            if self.digests(commit, paths) == list(digests.values()):
                return commit
        return None

    def _lines(self, *arguments: str) -> list[str]:
        return _run(self.root, *arguments, check=True).stdout.decode().split()


def literal(path: str) -> str:
    """The pathspec of one file, whatever characters its name has."""
    return f":(literal){path}"


def below(directory: str, name: str) -> str:
    """The pathspec of every file of this name in any subdirectory of a directory."""
    escaped = "".join(f"\\{sign}" if sign in "*?[\\" else sign for sign in directory)
    return f":(glob){name_in(escaped, f'**/{name}')}"


def name_in(directory: str, name: str) -> str:
    """A file in a directory, as git names it."""
    return name if directory == "." else f"{directory}/{name}"


def find_history(directory: Path) -> History | NoHistory:
    """The history of the repository that holds a directory, or why there is none to read."""
    if shutil.which("git") is None:
        return NoHistory("git is not installed, so the history cannot be read.")
    top = _run(Path(directory), "rev-parse", "--show-toplevel")
    if top.returncode:
        said = top.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        return NoHistory(f"{directory} has no git history to read (git said: {said[0]}).")
    root = Path(top.stdout.decode().rstrip("\n")).resolve()
    if _run(root, "rev-parse", "--is-shallow-repository").stdout.strip() != b"false":
        return NoHistory("this is a shallow clone, whose history is cut off; "
                         "'git fetch --unshallow' brings it.")
    head = _run(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.returncode:
        return NoHistory(f"the git repository at {root} has no commit yet.")
    return History(root, head.stdout.decode().strip())


def _run(directory: Path, *arguments: str, stdin: bytes = b"", check: bool = False):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")}
    return subprocess.run([*_GIT, "-C", str(directory), *arguments], input=stdin,
                          capture_output=True, env=environment, check=check)
