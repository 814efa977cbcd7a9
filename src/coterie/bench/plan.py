"""Plans of experiments: methods x data x seeds x effort, in TOML.

    name = "aecl-ablations"
    [[runs]]
    methods = ["aecl"]
    data = ["stackoverflow", { file = "mine.csv", text = "message", label = "theme" }]
    efforts = ["full"]
    seeds = [0, 1, 2]
    label = "No IC"                   # how the row is called; the method and its settings where left out
    paper = "aecl:3"                  # the published table to stand beside
    settings = { ablation = "no-ic" }
    vary = { lambda1 = [0, 5, 10] }   # each value of each of these in a run of its own, the others as they are
    keep = "stages"                   # for figures: how the texts lie before training and after each phase; or
                                      # "second-steps": what UMAP and IDEC make of the vectors in the end

TOML has no null: the word "none" stands for it among settings, as in `coterie fit --set crl=none`.

Every combination is a cell. Its file is named after what the cell is, so a plan that grows keeps what was measured.
Names in a plan are checked when it is read: a wrong one would otherwise show after hours, as a cell that failed.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

from coterie.bench.papers import paper_table
from coterie.bench.records import data_set
from coterie.data.messages import nearest
from coterie.errors import ConfigError

Result = dict[str, Any]
"""What the file of a cell holds."""
READ_OUTS = ("kept", "head", "kmeans", "untrained")
"""The labels that a method ends with; those of a trained head; k-means on the trained and on the untrained encoder."""
SECOND_STEPS = ("umap+kmeans", "idec", "umap+idec")
"""Other ways to groups from the vectors that the model reads in the end, where a plan keeps them."""
READABLE = (*READ_OUTS, *SECOND_STEPS)

STAGES, WITH_SECOND_STEPS = "stages", "second-steps"
KEEPABLE = (STAGES, WITH_SECOND_STEPS)
UNUSUAL = ("k", "rows", "encoder", "views", "word_vectors")
"""Without these in its name, a row would take different ways of running for seeds of one."""
DIGITS = 10
FILE_OF_CELL = re.compile(rf"-[0-9a-f]{{{DIGITS}}}\.json$")
"""How the name of a cell's file ends; other files of its folder are not ours."""


@dataclass(frozen=True)
class Cell:
    """One fit. `k` and `rows` are those of the data where left open; `views` names the set with other wordings.

    `keep` is what its result has beyond scores and history.
    """

    method: str
    data: str | Mapping[str, str]
    seed: int = 0
    effort: str = "fast"
    label: str = ""
    encoder: str = "minilm"
    word_vectors: str | None = None
    k: int | None = None
    rows: int | None = None
    views: str | None = None
    readout: str = "kept"
    paper: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    varied: str | None = None
    keep: str | None = None

    @property
    def data_name(self) -> str:
        """What its data is called in a table; no file is called like a set of the registry."""
        return self.data if isinstance(self.data, str) else "{file} ({text}, {label})".format(**self.data)

    @property
    def way(self) -> dict[str, Any]:
        """All that the scores depend on but data and seed: seeds of one way have a mean."""
        aside = ("data", "seed", "label", "paper", "readout", "varied", "keep")
        return {key: value for key, value in self.as_json().items() if key not in aside}

    @property
    def row(self) -> str:
        """What the cell is called in a table, its data and seed aside.

        A label stands for the method, its effort and its settings; what else was not as usual is always named.
        """
        own = {key: value for key in UNUSUAL if (value := getattr(self, key)) != getattr(Cell, key)}
        if not self.label:
            own |= self.settings
        elif self.varied:
            own[self.varied] = self.settings[self.varied]
        name = self.label or f"{self.method} ({self.effort})"
        return ", ".join([name, *(f"{key}={_plain(value)}" for key, value in own.items())])

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def file_name(self) -> str:
        """What a person can read, and a digest of all that the result depends on and of what the plan varies."""
        # A row may be renamed, and set beside another table, without being measured again.
        what = {key: value for key, value in self.as_json().items() if key not in ("label", "paper", "readout")}
        if self.keep is None:  # so that cells measured before there was `keep` are found again
            del what["keep"]
        digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:DIGITS]
        data = self.data if isinstance(self.data, str) else Path(self.data["file"]).name.split(".")[0]
        readable = re.sub(r"[^\w.+-]+", "-", f"{data}-{self.method}-{self.effort}-{self.seed}")
        return f"{readable}-{digest}.json"


@dataclass(frozen=True)
class Plan:
    name: str
    cells: tuple[Cell, ...]


def read_plan(path: Path) -> Plan:
    """The plan in a TOML file, every key and value of it checked."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: this plan cannot be read ({error.strerror}). Check its name.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: this plan cannot be read ({error}). Write it in TOML.") from error
    runs = document.pop("runs", None)
    name = document.pop("name", path.stem)
    document.pop("about", None)
    if document or not isinstance(name, str):
        raise ConfigError(f"{path}: a plan has `name`, `about` and [[runs]], not {next(iter(document), 'that name')!r}")
    if not isinstance(runs, list) or not runs or not all(isinstance(run, dict) for run in runs):
        raise ConfigError(f"{path}: there is no [[runs]] in this plan. Give at least one.")
    cells = [cell for number, run in enumerate(runs, start=1) for cell in _cells(run, f"{path}: run {number}")]
    # Two runs may have a cell in common: the later one's name of it counts.
    own = tuple({cell.file_name: cell for cell in cells}.values())
    try:
        check_rows(own)
        _check_files(own)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return Plan(name, own)


def _check_files(cells: Iterable[Cell]) -> None:
    """The columns that are named of the user's own files; one that is away now may be back when its cells are run."""
    from coterie.bench.data import check_columns

    for data in {cell.data_name: cell.data for cell in cells}.values():
        if not isinstance(data, str) and Path(data["file"]).is_file():
            check_columns(data)


def check_rows(cells: Iterable[Cell]) -> None:
    """A row of a table is one way of running: what is called the same is not another way, or its mean means nothing."""
    known: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        first = known.setdefault((cell.row, cell.data_name), cell)
        if first.way != cell.way:
            differing = next(key for key, value in first.way.items() if value != cell.way[key])
            raise ConfigError(
                f"two ways of running would be one row, {cell.row!r} on {cell.data_name}: {differing} is "
                f"{_plain(first.way[differing])} and {_plain(cell.way[differing])}. Give each a label of its own."
            )


_LISTS = {"methods": str, "data": (str, dict), "seeds": int, "efforts": str}
_KINDS: dict[str, Any] = {
    "label": str, "encoder": str, "word_vectors": str, "k": int, "rows": int, "views": str, "readout": str,
    "paper": str, "settings": dict, "vary": dict, "keep": str,
}  # fmt: skip


def _cells(run: dict[str, Any], where: str) -> Iterator[Cell]:
    _check_run(run, where)
    given = {key: value for key, value in run.items() if key in {entry.name for entry in fields(Cell)}}
    given.pop("data", None)
    settings = given.pop("settings", {})
    variants: list[tuple[str | None, dict[str, Any]]] = [
        (name, settings | {name: value}) for name, values in run.get("vary", {}).items() for value in values
    ] or [(None, settings)]
    combinations = product(run["methods"], run["data"], variants, run.get("efforts", ["fast"]), run.get("seeds", [0]))
    for method, data, (varied, own), effort, seed in combinations:
        chosen = {name: None if value == "none" else value for name, value in own.items()}
        cell = Cell(method, data, seed, effort, settings=chosen, varied=varied, **given)
        try:
            _check_names(cell)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error
        yield cell


def _check_names(cell: Cell) -> None:
    """Everything that a cell names is known. Nothing is loaded: a set that is not on this machine is no wrong name."""
    from coterie.building import Settings, build

    if isinstance(cell.data, str):
        data_set(cell.data)
    wordings = data_set(f"{cell.data_name}_{cell.views}").headings[2:] if cell.views else ()
    if cell.paper is not None:
        paper_table(cell.paper)
    settings = Settings(
        n_clusters=cell.k or 2,
        effort=cell.effort,  # type: ignore[arg-type]  # checked by `build`
        encoder=cell.encoder,
        precision="fp32",
        word_vectors=cell.word_vectors,
        random_state=cell.seed,
        own=cell.settings,
        views=[[] for _ in wordings],
        watch=(lambda vectors: {}) if cell.keep == STAGES else None,
    )
    build(cell.method, settings)


def _check_run(run: dict[str, Any], where: str) -> None:
    known = [*_LISTS, *_KINDS]
    for key, value in run.items():
        if key not in known:
            guess = nearest(key, known)
            hint = f"did you mean {guess!r}?" if guess else f"there are {', '.join(known)}"
            raise ConfigError(f"{where}: {key!r} is not known: {hint}")
        if key in _LISTS:
            right = isinstance(value, list) and value and all(_is(entry, _LISTS[key]) for entry in value)
        else:
            right = _is(value, _KINDS[key], least=1)
        if not right:
            raise ConfigError(f"{where}: {key} = {value!r} does not fit: {_wanted(key)}")
    for key in ("methods", "data"):
        if key not in run:
            raise ConfigError(f"{where}: {key!r} is missing: {_wanted(key)}")
    for data in run["data"]:
        if isinstance(data, dict) and (set(data) != {"file", "text", "label"} or not all(map(_is_text, data.values()))):
            raise ConfigError(
                f"{where}: {data!r} does not name a file: give file, text and label, the last two columns"
            )
    readout = run.get("readout", "kept")
    if readout not in READABLE:
        raise ConfigError(f"{where}: readout = {readout!r} is not known: use one of {', '.join(READABLE)}")
    if run.get("keep", STAGES) not in KEEPABLE:
        raise ConfigError(f"{where}: keep = {run['keep']!r} is not known: use {' or '.join(KEEPABLE)}")
    if readout in SECOND_STEPS and run.get("keep") != WITH_SECOND_STEPS:
        raise ConfigError(f"{where}: readout = {readout!r} needs keep = {WITH_SECOND_STEPS!r}: add it")
    if not all(isinstance(values, list) and values for values in run.get("vary", {}).values()):
        raise ConfigError(f"{where}: `vary` does not fit: give a list of values for each setting")


def _is(value: Any, kind: Any, least: int = 0) -> bool:
    return isinstance(value, kind) and not (isinstance(value, bool) or (kind is int and value < least))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _wanted(key: str) -> str:
    if key == "data":
        return "give a list of names of `coterie datasets`, or of tables with file, text and label"
    if key in _LISTS:
        return "give a list of numbers" if key == "seeds" else "give a list of names"
    return {int: "give a whole number from 1 on", str: "give a text", dict: "give a table"}[_KINDS[key]]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
