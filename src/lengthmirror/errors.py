"""Every error a user can meet, named by what is invalid; each message is one clear sentence."""


class LengthMirrorError(Exception):
    """Base class: the command line prints its message without a traceback and exits with 1."""


class InvalidConfig(LengthMirrorError):
    """A file in preregistration/ or config/ is missing, malformed or contradicts itself."""


class InvalidRegistration(LengthMirrorError):
    """The frozen files, the receipt and the history do not agree."""


class InvalidDataset(LengthMirrorError):
    """The human judgments are missing, or are not the registered ones."""


class InvalidUnits(LengthMirrorError):
    """The unit table cannot be built or read."""


class EmptySubset(LengthMirrorError):
    """No unit is left in a subset the estimand needs."""


class UnknownRung(LengthMirrorError):
    """A rung or ladder that config/ladder.toml does not name."""


class InvalidWeights(LengthMirrorError):
    """Weights that are missing, truncated or not the registered bytes."""


class InvalidJudge(LengthMirrorError):
    """A model that cannot serve as a judge (architecture, options, context window)."""


class InvalidLogits(LengthMirrorError):
    """A logits table that is corrupt, incomplete, duplicated or belongs to something else."""


class ScoringFailed(LengthMirrorError):
    """A worker died or a prompt could not be scored; finished groups are kept."""


class UnresolvableDesign(LengthMirrorError):
    """The registered margins cannot tell the two hypotheses apart on these data."""


class InvalidStatistic(LengthMirrorError):
    """A statistic was asked of arguments for which it is not defined."""


class InvalidReport(LengthMirrorError):
    """ladder.json or sensitivity.json is missing, malformed or of another study."""
