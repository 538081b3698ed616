"""The Hugging Face log-likelihood path of lm-evaluation-harness, on the model already loaded."""

from .judging import EncodedGroup, Session
from .paths import Answers, Path
from .results import Skipped


def lm_eval(session: Session) -> Path:
    """Log-likelihoods of the two options after each prompt, batch size 1.

    The harness is given the token ids that the other paths get, so nothing is tokenised twice or
    in another way; as with any one-token options, it makes one forward pass for both.

    Raises:
        Skipped: the package is not installed.
    """
    try:
        from lm_eval.models.huggingface import HFLM
    except ImportError:
        raise Skipped("lm-eval is not installed (extra 'bench').") from None
    judge = session.judge
    model = HFLM(pretrained=judge.model, tokenizer=judge.tokenizer, backend="causal", batch_size=1,
                 max_length=judge.model.config.get_text_config().max_position_embeddings)

    def run(group: EncodedGroup) -> Answers:
        requests = [(("", ""), ids, [option]) for ids in group.prompts
                    for option in session.option_ids]
        found = [logprob for logprob, _ in model._loglikelihood_tokens(requests, disable_tqdm=True)]
        return Answers(list(zip(found[::2], found[1::2])))
    return run
