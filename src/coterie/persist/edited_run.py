"""A run whose groups people change: its files follow the log of edits, all of them or none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.data.atomic import write_json_atomic
from coterie.errors import ConfigError, ModelFormatError
from coterie.persist.edits import edits_in_words, write_edits
from coterie.persist.folders import new_version
from coterie.persist.new_run import all_scores, texts_sha256, write_groups
from coterie.persist.run import Run
from coterie.types import Progress, silent

if TYPE_CHECKING:
    from coterie.edits import Edits
    from coterie.estimator import TextClusterer
    from coterie.types import Matrix


class EditedRun:
    """A run and its model, at hand for edits; vectors are made when they are first needed."""

    def __init__(self, run: Run, progress: Progress = silent) -> None:
        if Path.cwd().is_relative_to(run.folder.resolve()):
            raise ConfigError(f"{run.folder}: you are in this folder, so it cannot be replaced. Go to the one above.")
        self.run, self.progress = run, progress
        self.model: TextClusterer = run.model()
        self.frame = run.assignments()
        self.texts = self._texts()

    def divided(self, group: int, into: int) -> Edits:
        """The edits with one more, a split."""
        from coterie.edits import check_division, divided

        check_division(self.model.edits_, self.texts, self.model.labels_, group, into)
        return divided(self._with_vectors(), self.texts, group, into)

    def write(self, edits: Edits) -> list[dict[str, Any]]:
        """Makes these the edits of the run; gives back what `clusters.json` then says of each group."""
        from coterie.persist.derived import write_shares
        from coterie.report.build import write_report

        before = [str(edit) for edit in self.model.edits_.log]
        moves = edits.regroupings != self.model.edits_.regroupings
        with new_version(self.run.folder) as draft:
            if moves:
                self._write_groups(edits, draft)
            else:
                self.model.edits_ = edits
                write_json_atomic(draft / "clusters.json", [_named(group, edits) for group in self.run.groups()])
            write_edits(self.model, draft / "model")
            written = Run(draft, self.run.config)
            write_shares(written)
            write_report(written, written.report_path)
            groups = written.groups()
            if edits_in_words(self.run.model_path) != before:
                raise ConfigError(f"{self.run.folder}: another program has edited this run meanwhile. Try again.")
        return groups

    def _write_groups(self, edits: Edits, draft: Path) -> None:
        """All that follows from which group each row is in."""
        from coterie.result import describe

        self.model = self._with_vectors().with_edits(edits)
        self.progress("describing the groups", 0, 1)
        clustering = describe(self.texts, self.model)
        run = self.run
        write_groups(draft, clustering, self.frame, run.outliers_below)
        scores = all_scores(clustering, self.frame, run.truth_column, run.outliers_below)
        write_json_atomic(draft / "metrics.json", run.metrics() | scores)
        self.progress("describing the groups", 1, 1)

    def _with_vectors(self) -> TextClusterer:
        """The model with the vectors of the run's texts, made of the texts that the fit learnt from.

        So they are those of the fit, in the cache too.
        """
        from coterie.data.duplicates import find_duplicates, training_rows
        from coterie.features.transformer import encoder_of
        from coterie.methods.base import spread_vectors

        model = self.model
        if not hasattr(model, "vectors_"):
            encoder = encoder_of(model.features_)
            if encoder is not None:
                encoder.known_texts = True
            repeated = training_rows(find_duplicates(self.texts), model.edits_.n_fitted)
            learnt = [self.texts[row] for row in repeated.kept.tolist()]
            vectors: Matrix = model.features_.transform(learnt, self.progress)
            model.vectors_ = spread_vectors(vectors, model.features_, self.texts, repeated, self.progress)
        return model

    def _texts(self) -> list[str]:
        from coterie.data.check import texts_of

        name = str(self.run.assignments_path)
        texts = texts_of(self.frame, self.run.text_column, name)
        if texts_sha256(texts) != self.run.config["input"].get("texts_sha256") or len(texts) != len(self.model.labels_):
            raise ModelFormatError(f"{name}: these are not the texts of the fit: put the file back, or fit again")
        return texts


def _named(group: dict[str, Any], edits: Edits) -> dict[str, Any]:
    """What `clusters.json` says of a group, under the name that it now has."""
    from coterie.result import group_name

    given = edits.names.get(group["id"])
    name = group_name(group["id"], [word["word"] for word in group["words"]], given)
    rest = {key: value for key, value in group.items() if key not in ("id", "name", "given_name")}
    return {"id": group["id"], "name": name, **({"given_name": given} if given else {}), **rest}
