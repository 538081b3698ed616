"""One group in one forward pass with a tree attention mask, against depth-first reuse.

``python benchmarks/packed.py --data DIR --weights DIR``: why prefixes are reused depth-first. Times
the 22 prompts of (140, 1) both ways, on one core, and compares their logits.
"""

import time

import torch

from lengthmirror.chunked_attention import attention_in_chunks
from lengthmirror.shared_prefix import last_logits, plan_steps
from measure.command import parse
from measure.judging import encode, load_judge, registered_groups
from measure.machine import pin
from measure.settings import Settings

GROUP = (140, 1)


def main() -> None:
    options = parse(None)
    pin()
    settings = Settings(options.data, options.weights, options.rung, False)
    judge, _ = load_judge(settings, options.rung)
    sequences = encode(judge, registered_groups(settings, lambda key: key == GROUP)[0])
    started = time.perf_counter()
    with attention_in_chunks(judge.model):
        expected, computed = last_logits(judge.model, sequences)
    middle = time.perf_counter()
    found = packed(judge.model, sequences)
    ended = time.perf_counter()
    difference = max(float((one - other).abs().max()) for one, other in zip(found, expected))
    print(f"{len(sequences)} prompts, {computed} distinct tokens: depth-first "
          f"{middle - started:.1f} s, packed {ended - middle:.1f} s, largest difference of a logit "
          f"{difference:.2g}")


def packed(model, sequences: list) -> list[torch.Tensor]:
    """Logits of each sequence's last position; every token sees its own prefix alone."""
    ids, positions, path, prefixes, last = [], [], [], [], {}
    for step in plan_steps(sequences):
        path = path[:step.kept]
        for position in range(step.kept, len(sequences[step.index])):
            path.append(len(ids))
            ids.append(sequences[step.index][position])
            positions.append(position)
            prefixes.append(list(path))
        last[step.index] = path[-1]
    mask = torch.zeros(1, 1, len(ids), len(ids), dtype=torch.bool)
    for row, prefix in enumerate(prefixes):
        mask[0, 0, row, prefix] = True
    wanted = [last[index] for index in range(len(sequences))]
    with torch.inference_mode():
        return list(model(torch.tensor([ids]), attention_mask=mask, use_cache=False,
                          position_ids=torch.tensor([positions]),
                          logits_to_keep=torch.tensor(wanted)).logits[0].float())


if __name__ == "__main__":
    main()
