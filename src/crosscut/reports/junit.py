"""Verdicts as JUnit XML for continuous integration, with one test case per promise."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from crosscut.analysis.compare.promises import PromiseVerdict, Verdict
from crosscut.analysis.compare.spec import Spec
from crosscut.analysis.figures.cautions import Caution
from crosscut.reports.words import check as words_check

# Characters that XML 1.0 cannot represent (section 2.2).
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(
    spec: Spec, judged: Sequence[PromiseVerdict], names: Sequence[str], cautions: Sequence[Caution] = ()
) -> str:
    count = {verdict: sum(one.verdict is verdict for one in judged) for verdict in Verdict}
    suites = ET.Element("testsuites")
    suite = ET.SubElement(
        suites, "testsuite", name=_fit(spec.title), tests=str(len(judged)), failures=str(count[Verdict.FAIL]),
        skipped=str(count[Verdict.UNDECIDED]), errors="0",
    )  # fmt: skip
    for one in judged:
        case = ET.SubElement(suite, "testcase", name=_fit(one.promise.name), classname="crosscut.check")
        text = _fit(f"{one.promise.said}; {words_check.measured(one, names)}")
        if one.verdict is Verdict.FAIL:
            failure = ET.SubElement(case, "failure", message=text, type="broken")
            failure.text = _fit(words_check.broken(one, names))
        elif one.verdict is Verdict.UNDECIDED:
            ET.SubElement(case, "skipped", message=_fit(f"undecided: {text}"))
        else:
            ET.SubElement(case, "system-out").text = text
        if said := words_check.left_out(one):
            ET.SubElement(case, "system-err").text = _fit(said)
    if cautions:
        told = "\n".join(map(str, cautions))
        ET.SubElement(suite, "system-err").text = _fit(told)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _fit(text: str) -> str:
    return _UNFIT.sub("\ufffd", text)
