"""What a user may write as a rubric, and the criteria that it amounts to."""

from __future__ import annotations

from typing import Any

import pytest

from tracescore import ConfigurationError, RubricCriterion, ScorerRun, create_rubric_scorer
from tracescore.prebuilt.rubric_criteria import NumberedCriterion, numbered, read_rubric, rubric_of


@pytest.mark.parametrize(
    ("text", "descriptions"),
    [
        ("- All tests pass\n- It takes one list", ["All tests pass", "It takes one list"]),
        ("* a\n• b\n1. c\n2) d\n  - e", ["a", "b", "c", "d", "e"]),
        ("-\tafter a tab", ["after a tab"]),
        ("-5 degrees is said to be cold", ["-5 degrees is said to be cold"]),
        ("3.5 stars at least", ["3.5 stars at least"]),
        ("**Bold** headings", ["**Bold** headings"]),
        ("1.no space", ["1.no space"]),
        ("- - J", ["- J"]),
        ("\r\n - a \r\n\r\n-\n- \n   \n", ["a"]),
        ("one line", ["one line"]),
    ],
)
def test_a_text_has_one_criterion_a_line(text: str, descriptions: list[str]) -> None:
    criteria = read_rubric(text, "criteria")

    assert criteria == tuple(RubricCriterion(description=description) for description in descriptions)


def test_a_list_has_texts_dicts_and_criteria() -> None:
    given: list[Any] = [
        "- as it stands",
        {"description": "From JSON", "id": "json", "required": False, "weight": 2},
        RubricCriterion(description="Typed", weight=0.5),
        "  ",
    ]

    assert read_rubric(given, "criteria") == (
        RubricCriterion(description="- as it stands"),
        RubricCriterion(description="From JSON", id="json", required=False, weight=2),
        RubricCriterion(description="Typed", weight=0.5),
    )


def test_criteria_get_ids_of_ours_and_names_of_their_own() -> None:
    given = [
        RubricCriterion(description="Same"),
        RubricCriterion(description=" Same ", required=False),
        RubricCriterion(description="x" * 300, id="long"),
        RubricCriterion(description="y " * 300, weight=3),
    ]

    assert [(one.id, one.name, one.required, one.weight) for one in numbered(given)] == [
        ("c1", "Same", True, 1.0),
        ("c2", "Same (2)", False, 1.0),
        ("c3", "long", True, 1.0),
        ("c4", ("y " * 50), True, 3.0),
    ]


def test_where_none_is_required_all_are() -> None:
    (one,) = numbered([RubricCriterion(description="A", required=False)])

    assert one == NumberedCriterion(id="c1", name="A", description="A", required=True, weight=1.0)


@pytest.mark.parametrize("nothing", [None, "", " \n ", [], (), [" "]])
def test_nothing_is_no_rubric(nothing: Any) -> None:
    assert read_rubric(nothing, "criteria") == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (7, "criteria must be text or a list of criteria, not int"),
        ({"description": "A"}, "criteria must be text or a list of criteria, not dict"),
        ([7], "criteria: a criterion is text or has a description, not 7"),
        ([{"text": "A"}], "a criterion has no 'text'; it has description, id, required, weight"),
        ([{"description": "A", "requird": False}], "has no 'requird'; did you mean 'required'?"),
        ([{"id": "a"}], "a criterion needs a description"),
        ([{"description": "  "}], "its description must be text that says something"),
        ([{"description": "A", "required": "no"}], "required must be True or False, not 'no'"),
        ([{"description": "A", "weight": 0}], "weight must be greater than 0"),
        ([{"description": "A", "weight": float("inf")}], "weight must be greater than 0 and finite"),
        ([{"description": "A", "weight": "2"}], "weight must be a number"),
        ([{"description": "A", "id": ""}], "its id must be text"),
        ([{"description": "A", "id": "x"}, {"description": "B", "id": "x"}], "two criteria have the id 'x'"),
    ],
)
def test_what_is_no_rubric_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_rubric(given, "criteria")

    assert message in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"\(criteria=\.\.\.\)"):
        create_rubric_scorer(criteria=given)


class Asked:
    rubric = "from an object"


@pytest.mark.parametrize(
    ("run", "description"),
    [
        (ScorerRun(input={"rubric": "c"}, request_context={"rubric": "a"}, additional_context={"rubric": "b"}), "a"),
        (ScorerRun(input={"rubric": "c"}, request_context={"rubric": " "}, additional_context={"rubric": "b"}), "b"),
        (ScorerRun(input={"rubric": "c"}, request_context={"rubric": []}, additional_context={"rubric": None}), "c"),
        (ScorerRun(input=Asked()), "from an object"),
        (ScorerRun(input="rubric: words of a user are no rubric"), None),
        (ScorerRun(), None),
    ],
)
def test_a_runs_own_rubric_is_looked_for_in_order(run: ScorerRun[Any, Any], description: str | None) -> None:
    assert [one.description for one in rubric_of(run)] == ([] if description is None else [description])


@pytest.mark.parametrize("options", [{"scale": 0}, {"scale": -1}, {"scale": float("inf")}, {"scale": "1"}])
def test_a_scale_is_a_number_above_0(options: Any) -> None:
    with pytest.raises(ConfigurationError, match="give a finite number greater than 0"):
        create_rubric_scorer(**options)


def test_evidence_is_output_or_text() -> None:
    wrong: Any = "tools"

    with pytest.raises(ConfigurationError, match="give 'output' or 'text'"):
        create_rubric_scorer(evidence=wrong)
