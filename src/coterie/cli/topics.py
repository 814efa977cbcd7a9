"""`coterie topics`: what each group of a run is about, topic by topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.console import print_group, print_json, print_rows, shortened

if TYPE_CHECKING:
    from coterie.persist.run import Run


def topics(
    run: Annotated[Path, typer.Argument(help="The run folder of a fit with --method deccrl.")],
    json: Annotated[bool, typer.Option("--json", help="Print topics and scores as JSON.")] = False,
) -> None:
    """Show every group's topics with their share and likely words, and how good they are beside the groups' words."""
    from coterie.persist.run import Run

    finished = Run.open(run)
    groups = _groups(finished)
    quality = _quality(finished, groups)
    if json:
        kept = ("id", "name", "size", "words", "topics")
        print_json({"clusters": [{name: group[name] for name in kept} for group in groups], "quality": quality})
        return
    for group in groups:
        _print_group(group)
    rows = [(name, *(_shown(value) for value in scores.values())) for name, scores in quality.items()]
    print()
    print_rows(("", "coherence (NPMI)", "diversity"), rows)


def _groups(run: Run) -> list[dict[str, Any]]:
    from coterie.errors import ConfigError
    from coterie.registry import why_no_topics

    groups = run.groups()
    if not all(group.get("topics") for group in groups):
        options = run.config["options"]
        raise ConfigError(f"{run.folder}: a run {why_no_topics(options['method'], options.get('settings'))}")
    return groups


def _quality(run: Run, groups: list[dict[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Scores of the topics, and of the groups' own words on the same texts."""
    from coterie.data.check import texts_of
    from coterie.metrics.internal import finite
    from coterie.metrics.topics import topic_scores

    texts = texts_of(run.assignments(), run.text_column, str(run.assignments_path))
    lists = {
        "topics": [_words(topic) for group in groups for topic in group["topics"]],
        "words of the groups (c-TF-IDF)": [_words(group) for group in groups],
    }
    return {name: finite(topic_scores(words, texts)) for name, words in lists.items()}


def _print_group(group: dict[str, Any]) -> None:
    import shutil

    width = max(60, min(120, shutil.get_terminal_size().columns))
    print_group(group, words=len(group["words"]), examples=0)
    for topic in sorted(group["topics"], key=lambda topic: -topic["weight"]):
        words = shortened(", ".join(map(_word_and_share, topic["words"])), width - 22)
        print(f"       topic {topic['id']}  {topic['weight']:>4.0%}  {words}")


def _words(entry: dict[str, Any]) -> list[str]:
    return [word["word"] for word in entry["words"]]


def _word_and_share(word: dict[str, Any]) -> str:
    share = word["probability"]
    return f"{word['word']} {share:.0%}" if share >= 0.005 else f"{word['word']} <1%"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
