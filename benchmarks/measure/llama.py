"""llama.cpp through llama-cpp-python, on the same GGUF file, one thread."""

from pathlib import Path as FilePath

import numpy as np

from .judging import EncodedGroup, Session
from .paths import Answers, Path
from .results import Skipped

MARGIN = 16  # places in the context beyond the longest prompt


def llama_cpp(session: Session) -> Path:
    """Each prompt from scratch.

    Raises:
        Skipped: the package is not installed.
    """
    judge = _Llama(session)

    def run(group: EncodedGroup) -> Answers:
        return Answers([judge.fresh(ids) for ids in group.prompts])
    return run


def llama_cpp_reuse(session: Session) -> Path:
    """Each prompt from the prefix that llama-cpp-python finds in its cache, prompts in the order
    in which neighbours share the longest prefixes.

    Raises:
        Skipped: the package is not installed.
    """
    judge = _Llama(session)

    def run(group: EncodedGroup) -> Answers:
        order = sorted(range(len(group.prompts)), key=group.prompts.__getitem__)
        found = {at: judge.reusing(group.prompts[at]) for at in order}
        return Answers([found[at] for at in range(len(group.prompts))])
    return run


class _Llama:
    """One loaded file and the two ways to evaluate a prompt; only the last position's logits."""

    def __init__(self, session: Session):
        try:
            import llama_cpp
        except ImportError:
            raise Skipped("llama-cpp-python is not installed (extra 'bench').") from None
        longest = max(len(ids) for group in session.groups for ids in group.prompts)
        path = FilePath(session.weights.folder) / session.weights.gguf_file
        self._options, self._library = list(session.option_ids), llama_cpp
        self._model = llama_cpp.Llama(str(path), n_ctx=longest + MARGIN, n_threads=1,
                                      n_threads_batch=1, logits_all=False, verbose=False)

    def fresh(self, ids: list[int]) -> tuple[float, float]:
        self._model.reset()
        self._model.eval(ids)
        return self._last()

    def reusing(self, ids: list[int]) -> tuple[float, float]:
        tokens = self._model.generate(ids, temp=0.0)
        next(tokens)
        found = self._last()
        tokens.close()
        return found

    def _last(self) -> tuple[float, float]:
        pointer = self._library.llama_get_logits_ith(self._model.ctx, -1)
        logits = np.ctypeslib.as_array(pointer, shape=(self._model.n_vocab(),))
        return tuple(float(value) for value in logits[self._options])
