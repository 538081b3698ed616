"""The five tamper checks of the registration, one test each."""

import pytest

from lengthmirror.registration import FAILED, PASSED, UNREGISTERED


def test_registration(registration_check, ladder, registered_study, request):
    """The frozen files, the receipt and the history tell one story."""
    found = ladder.checks[registration_check]
    if ladder.status == UNREGISTERED and not ladder.options.own:
        not_shown(request, f"unregistered: {ladder.options.registration} has no receipt for "
                           f"the registration {registered_study.digest[:12]}.")
    if found.status in (FAILED, UNREGISTERED):
        pytest.fail(found.sentence, pytrace=False)
    if found.status != PASSED:
        not_shown(request, found.sentence)


def not_shown(request, sentence):
    """A check that cannot be made is skipped, unless the run requires it."""
    if request.config.option.require_verified:
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)
