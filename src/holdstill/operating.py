"""What the operator does with a collection as a whole: its history, its generations, and what is erased."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import BinaryIO

from holdstill.access import Asking
from holdstill.analysis import analyser as analyser_of
from holdstill.arguments import as_flag
from holdstill.embedding import DEFAULT, Embedder
from holdstill.embedding.cache import forget
from holdstill.errors import EmbedderRequired, GenerationNotFound, InvalidQuery, NotWritable, SnapshotNotFound
from holdstill.handle import Handle, Where, as_predicate, ids_or_where, named
from holdstill.making import remade
from holdstill.models import again, chosen
from holdstill.query import check_whole
from holdstill.rebuilding import activate, rebuild
from holdstill.reports import Commit, Diff, ExportReport, GenerationInfo, PruneReport, PurgeReport, RebuildReport
from holdstill.stores.base import Erased, Generation, Progress
from holdstill.timeline import At, check_tag, moment, resolve, to_prune


class Operated(Handle):
    """The calls that are the operator's alone; without a policy every caller is the operator.

    Each raises `holdstill.OperatorRequired` where the collection has a policy and the caller is not the operator.
    """

    # -- commits ---------------------------------------------------------------------------------

    def history(self, *, principal: Asking = None, operator: bool = False) -> list[Commit]:
        """Every commit, the first one first."""
        with self._operating(principal, operator=operator) as store:
            return store.history()

    def tag(self, name: str, at: At = None, *, principal: Asking = None, operator: bool = False) -> int:
        """Name a commit, the newest one unless `at` says which; returns its number.

        A name that is taken moves. A commit that has one is never pruned.

        Raises:
            holdstill.InvalidInput: the name is none that a commit can have.
            holdstill.SnapshotNotFound: there is no such commit, or it was pruned.
        """
        with self._operating(principal, operator=operator) as store, store.writing():
            commit = store.snapshot().commit if at is None else resolve(store.history, at)
            if commit == 0:
                raise SnapshotNotFound(
                    "there is no commit to name yet", field="at", expected="a collection with a commit"
                )
            store.tag(check_tag(name), commit)
            return commit

    def untag(self, name: str, *, principal: Asking = None, operator: bool = False) -> int:
        """Take a commit's name away; returns its number.

        Raises:
            holdstill.SnapshotNotFound: no commit has it.
        """
        with self._operating(principal, operator=operator) as store, store.writing():
            commit = resolve(store.history, check_tag(name))
            store.untag(name)
            return commit

    def diff(self, first: At, second: At = None, *, principal: Asking = None, operator: bool = False) -> Diff:
        """What is different at the second commit: the newest one unless said otherwise.

        Raises:
            holdstill.SnapshotNotFound: there is no such commit, or it was pruned.
        """
        with self._operating(principal, operator=operator) as store:
            newest = store.snapshot().commit
            return store.diff(*(newest if at is None else resolve(store.history, at) for at in (first, second)))

    # -- erasing ---------------------------------------------------------------------------------

    def prune(
        self,
        *,
        keep_last: int | None = None,
        before: str | date | datetime | None = None,
        principal: Asking = None,
        operator: bool = False,
    ) -> PruneReport:
        """Erase what only old commits see, and free its space; the newest commit, and tagged ones, are kept.

        Args:
            keep_last: how many of the newest commits to keep, 1 or more.
            before: prune commits made before this time: UTC midnight of a date, or a time with its zone.
            principal: who asks.
            operator: whether the operator asks.

        Raises:
            holdstill.InvalidQuery: neither is given, or both; or a value is out of range.
            holdstill.NotWritable: the disk is full, or the directory cannot be written; nothing was changed.
            holdstill.CollectionBusy: another process took the collection meanwhile, or this thread is searching it.
        """
        with self._operating(principal, operator=operator) as store:
            if (keep_last is None) == (before is None):
                raise InvalidQuery(
                    "a prune must say what to keep", field="keep_last", expected="either `keep_last` or `before`"
                )
            kept = None if keep_last is None else check_whole("keep_last", keep_last, 1)
            until = None if before is None else moment("before", before, days=True)
            with store.writing():
                return _pruned(store.prune(to_prune(store.history(), kept, until)))

    def purge(
        self,
        ids: str | Iterable[str] = (),
        *,
        where: Where = None,
        params: Mapping[str, object] | None = None,
        principal: Asking = None,
        operator: bool = False,
    ) -> PurgeReport:
        """Erase documents from every snapshot, tag, generation, index, recorded search and cache, deleted ones too.

        No file of the collection holds their bytes afterwards. The snapshots that had them stay, without them.

        Args:
            ids: one id, or several.
            where: a filter instead: the documents that satisfy it now.
            params: values for the `:name`s of a spelled filter.
            principal: who asks.
            operator: whether the operator asks.

        Raises:
            holdstill.InvalidQuery: neither ids nor `where`, or both.
            holdstill.NotWritable: the disk is full, or the directory or the user's cache of vectors cannot be written;
                nothing was changed. Or, as the message says, all is erased but for the search log.
            holdstill.CollectionBusy: another process took the collection meanwhile, or this thread is searching it.
        """
        with self._operating(principal, operator=operator) as store, store.writing():
            snapshot, filtered = store.snapshot(), as_predicate(where, params)
            given = ids_or_where(ids, filtered)
            sought = given if filtered is None else named(snapshot, (), filtered)[0]
            found = store.stored(sought)
            missing = tuple(id_ for id_ in sought if id_ not in set(found))
            forget(store.sources(found))  # first: once the documents are gone, nobody knows what is to be forgotten
            erased = store.purge(found) if found else None
            searches = self._forget_searches(found, missing)
            if erased is None:
                return PurgeReport(0, missing, snapshot.commit, 0, searches)
            return PurgeReport(len(found), missing, erased.commit, erased.commits, searches)

    def _forget_searches(self, found: Sequence[str], missing: Sequence[str]) -> int:
        """Take documents out of the search log; also hits of those purged earlier, when that did not succeed."""
        try:
            return self._log.redact({*found, *self._log.hit(missing)})
        except OSError as error:
            raise NotWritable(
                f"the documents are purged, but the search log cannot be rewritten: {error.strerror}",
                field="path",
                hint="Purge the same ids again, or delete the files searches*.jsonl of the collection",
            ) from error

    # -- generations -----------------------------------------------------------------------------

    def generations(self, *, principal: Asking = None, operator: bool = False) -> list[GenerationInfo]:
        """Every generation, the first one first."""
        with self._operating(principal, operator=operator) as store:
            commits = [each.generation for each in store.history() if not each.pruned]
            listed = []
            for built in store.generations():
                about = asdict(built.generation)
                about["analyser"] = about.pop("analysis")
                number = about.pop("number")
                for name in ("brought", "settings"):
                    del about[name]
                listed.append(
                    GenerationInfo(
                        number,
                        built.active,
                        built.complete,
                        **about,
                        passages=built.passages,
                        missing=built.missing,
                        commits=commits.count(number),
                        bytes=built.bytes,
                    )
                )
            return listed

    def rebuild(
        self,
        *,
        analyser: str | None = None,
        embedder: str | Embedder | None = None,
        principal: Asking = None,
        operator: bool = False,
        progress: Progress | None = None,
    ) -> RebuildReport:
        """Build a new generation beside the active one, and switch to it in one step, as a commit.

        Searches and writes go on meanwhile; documents added are in both. One that was cut off is carried on by asking
        for the same again.

        Args:
            analyser: its analyser; that of the active one unless said otherwise.
            embedder: its embedding model, by name or as an object, or `none` for words alone; that of the active one
                unless said otherwise.
            principal: who asks.
            operator: whether the operator asks.
            progress: called with what is being done, how much of it, and of how much.

        Raises:
            holdstill.InvalidInput: an unknown analyser or embedder.
            holdstill.EmbedderRequired: texts need vectors that nothing here can make.
            holdstill.EmbedderFailed: the model cannot be loaded, or does not hold still.
        """
        with self._operating(principal, operator=operator) as store:
            active = store.snapshot().generation
            words = active.analyser if analyser is None else analyser
            analyser_of(words)
            model = self._again(active) if embedder is None else chosen(embedder, None)
            if model is not None:
                self._embedders.append(model)
            generation = remade(active, words, model, keep=embedder is None)
            return rebuild(store, generation, self._embedding(generation), progress)

    def _again(self, active: Generation) -> Embedder | None:
        """The embedder of the active generation, as it is now; None where there is none, or vectors are brought."""
        if active.brought or not active.dense:
            return None
        given = self._embedder(active)
        if given is None and (active.embedder == DEFAULT or active.settings is not None):
            return again(active)
        if given is None:
            raise EmbedderRequired(
                f"the texts have to be embedded by {active.embedder!r}, and it is not at hand",
                field="embedder",
                expected="an embedder",
                hint="Pass the embedder, or its name",
            )
        return chosen(given, None)

    def activate(
        self, number: int, *, principal: Asking = None, operator: bool = False, progress: Progress | None = None
    ) -> RebuildReport:
        """Make a generation the active one again, as a commit; the documents that it lacks are built first.

        Raises:
            holdstill.GenerationNotFound: there is none of that number.
            holdstill.EmbedderRequired: it lacks documents whose vectors nothing here can make.
            holdstill.ModelMismatch: it lacks documents, and its model is not the one that is installed.
        """
        with self._operating(principal, operator=operator) as store:
            generation = self._numbered(number)
            active = store.snapshot().generation.number
            if number == active:
                raise InvalidQuery(f"generation {number} is active already", field="generation", got=number)
            return activate(store, number, self._embedding(generation), progress)

    def drop_generation(self, number: int, *, principal: Asking = None, operator: bool = False) -> PruneReport:
        """Erase a generation that is not the active one, and free its space; the commits that belong to it are pruned.

        Raises:
            holdstill.GenerationNotFound: there is none of that number.
            holdstill.InvalidQuery: it is the active one, or a commit of it has a tag.
            holdstill.NotWritable: the disk is full, or the directory cannot be written; nothing was changed.
            holdstill.CollectionBusy: another process took the collection meanwhile, or this thread is searching it.
        """
        with self._operating(principal, operator=operator) as store, store.writing():
            self._numbered(number)
            if number == store.snapshot().generation.number:
                raise InvalidQuery(
                    f"generation {number} is active", field="generation", got=number, hint="Activate another one first"
                )
            tags = [tag for each in store.history() if each.generation == number for tag in each.tags]
            if tags:
                raise InvalidQuery(
                    f"commits of generation {number} have tags: {', '.join(tags)}",
                    field="generation",
                    got=number,
                    hint="Take the tags away first: its commits cannot be searched without it",
                )
            return _pruned(store.drop(number))

    # -- elsewhere -------------------------------------------------------------------------------

    def export(
        self,
        file: str | os.PathLike[str] | BinaryIO,
        at: At = None,
        *,
        overwrite: bool = False,
        principal: Asking = None,
        operator: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write the documents of one commit, with their vectors, to a file from which `import_collection` makes a copy.

        A search of the copy gives the digest that it gives here. Equal commits give equal files, byte for byte.

        Args:
            file: a path, or a binary file that is open for writing.
            at: the commit, by its number, a tag or a time; the newest one unless said otherwise.
            overwrite: whether to replace a file that is there.
            principal: who asks.
            operator: whether the operator asks.
            progress: called with what is being done, how much of it, and of how much.

        Raises:
            holdstill.CollectionExists: something is at the path already.
            holdstill.SnapshotNotFound: `at` names no commit, or one that was pruned.
            holdstill.NotWritable: the disk is full, or the file cannot be written; nothing is left of it.
        """
        from holdstill.exporting import export

        with self._operating(principal, operator=operator), self._reading(at) as snapshot:
            return export(snapshot, file, overwrite=as_flag("overwrite", overwrite), progress=progress)

    def _numbered(self, number: int) -> Generation:
        check_whole("generation", number, 1)
        for built in self._store.generations():
            if built.generation.number == number:
                return built.generation
        raise GenerationNotFound(
            f"there is no generation {number}",
            field="generation",
            expected="one of those that `holdstill generations` lists",
            got=number,
        )


def _pruned(erased: Erased) -> PruneReport:
    return PruneReport(erased.commits, erased.versions, erased.before, erased.after)
