"""`Preset`: the settings of one training that do not depend on the data, as the parts of a run take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

GROUPS = ("config", "data", "task", "trainer", "run")


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Settings by the part of a run that takes them; no name stands in two groups.

    Attributes:
        architecture, variant: what is trained.
        config: fields of the model's config, without `model_type`.
        data: arguments of the DataModule.
        task: arguments of the LightningModule, beside the model.
        trainer: fields of `TrainerSettings`.
        run: further fields of the run, such as `decay`.
        only_if_changed: name to value of settings that results leave out at this value, so that those from before there
            were such settings stay those of the same settings.
    """

    architecture: str
    variant: str
    config: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)
    trainer: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    only_if_changed: Mapping[str, Any] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """Return every setting by name, as the parts of a run take it."""
        return {name: value for group in GROUPS for name, value in getattr(self, group).items()}

    def settings(self) -> dict[str, Any]:
        """Return the settings by name, as a results file reports them."""
        left_out = self.only_if_changed
        return {
            name: _plain(value)
            for name, value in self.values().items()
            if name not in left_out or value != left_out[name]
        }

    def changed(self, **settings: Any) -> Preset:
        """Return the preset with other values of settings that it has.

        Raises:
            ValueError: it has no such setting; the message names those that it has.
        """
        groups: dict[str, Any] = {group: dict(getattr(self, group)) for group in GROUPS}
        for name, value in settings.items():
            owner = next((group for group in groups.values() if name in group), None)
            if owner is None:
                raise ValueError(
                    f"{self.architecture} {self.variant} has no setting {name}; it has "
                    f"{', '.join(sorted(self.values()))}"
                )
            owner[name] = value
        return replace(self, **groups)


def told(settings: Mapping[str, Any], names: Iterable[str] | None = None) -> str:
    """Write settings for a person: those named, or all, as `name value`."""
    return ", ".join(f"{name} {_written(settings[name])}" for name in (settings if names is None else names))


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """Return a value as JSON keeps it."""
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
