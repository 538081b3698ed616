"""The page in headless Chromium: it fits, and its pictures are there."""

import json
import re
import shutil
import subprocess

import pytest

pytest.importorskip("matplotlib", reason="the report needs the extra 'report'")
pytest.importorskip("jinja2", reason="the report needs the extra 'report'")
pytest.importorskip("jsonschema", reason="the report needs the extra 'report'")

from lengthmirror.report_page import write_report

from .documents import JUDGES, MANY, ONE, sensitivity, written

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome",
                                                "chrome"))), None)
# What the test's copy of the page says of itself once it is laid out.
PROBE = """<script>addEventListener("load", () => {
const box = element => element.getBoundingClientRect();
document.body.dataset.probe = JSON.stringify({
  page: document.documentElement.scrollWidth, window: innerWidth,
  pictures: [...document.images].map(each => [each.naturalWidth, box(each).width]),
  beside: [...document.querySelectorAll(".figure")].every(each =>
    box(each.children[1]).left >= box(each.children[0]).right),
  tables: [...document.querySelectorAll(".scroll")].map(each =>
    each.scrollWidth - each.clientWidth)});
});</script>"""


@pytest.fixture(scope="module", params=["one judge", "many judges"])
def page(request, tmp_path_factory):
    """The path of a page with the probe in it."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine.")
    folder = tmp_path_factory.mktemp("browser")
    content = ONE if request.param == "one judge" else MANY
    if content is MANY:
        written(folder / "in", sensitivity(*JUDGES[:3]), "sensitivity.json")
    path = write_report(written(folder / "in", content), folder)[0]
    html = path.read_text("utf-8")
    assert "<script" not in html
    path.write_text(html.replace("</body>", PROBE + "</body>"), "utf-8")
    return path


def looked_at(page, width):
    """What Chromium measures in a window of that width."""
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         f"--user-data-dir={page.parent / f'profile{width}'}", f"--window-size={width},2000",
         page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    [found] = re.findall(r'data-probe="(.*?)"', done.stdout)
    return json.loads(found.replace("&quot;", '"'))


def test_it_fits_a_wide_window(page):
    """At 1200 pixels words stand beside their figure, and no table has to be scrolled."""
    seen = looked_at(page, 1200)
    assert seen["window"] == 1200 and seen["page"] <= 1200
    assert seen["beside"] and max(seen["tables"]) <= 0
    assert seen["pictures"] and all(natural > 0 and shown > 550
                                    for natural, shown in seen["pictures"])


def test_it_fits_a_narrow_window(page):
    """In the narrowest window Chromium makes, words follow their figure; tables scroll alone."""
    seen = looked_at(page, 500)
    assert seen["window"] <= 500 and seen["page"] <= seen["window"]
    assert not seen["beside"]
    assert all(natural > 0 and shown > 300 for natural, shown in seen["pictures"])
