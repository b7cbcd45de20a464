"""`ZooConfig`, the base of every configuration: strict types, numbers within bounds, and no unknown names."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, get_args

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

# Keyword arguments that transformers itself puts into a config beside its declared fields (saved files, old names, Hub
# bookkeeping). Anything else that is not a declared field is a misspelling.
TRANSFORMERS_NAMES = frozenset(
    (
        *("_attn_implementation", "_commit_hash", "_experts_implementation", "_name_or_path"),
        *("_output_attentions", "attn_implementation", "auto_map", "bos_token_id", "custom_pipelines"),
        *("decoder_start_token_id", "eos_token_id", "experts_implementation", "finetuning_task", "is_decoder"),
        *("model_type", "name_or_path", "output_attentions", "num_labels", "pad_token_id", "sep_token_id"),
        *("task_specific_params", "tie_word_embeddings", "tokenizer_class", "torch_dtype"),
        *("transformers_version", "use_cache", "use_return_dict"),
    )
)

# A configuration may be a stranger's: the sizes that it requests are checked before anything is built. These bounds are
# far beyond every model of the zoo.
LARGEST_COUNT = 100_000  # largest whole number without a bound of its own, and longest list of numbers
LARGEST_TABLE = 100_000_000  # most rows of a table of words, items or others that data have, and longest list of names
LARGEST_FLOAT = 1e30  # largest number that may be a fraction; single precision ends at 3e38

SEVERAL_LABELS = "multi_label_classification"  # transformers' problem_type where a text has any number of labels

# The last version whose models had every field of `former_fields`.
LAST_WITH_FORMER_FIELDS = "0.1.0.dev0+g5eb680cf6280"

OfVariant = TypeVar("OfVariant", bound="ZooConfig")


@strict
class ZooConfig(PreTrainedConfig):
    """The base of every configuration.

    Subclasses declare typed fields and `validate_*` methods for rules across fields; both are checked at construction,
    on load and on save. Every number is bounded: whole ones by `largest`, others by `LARGEST_FLOAT`, so that single
    precision holds them.

    Attributes:
        takes_several_labels: Whether a head may give an input several labels, `problem_type` being `SEVERAL_LABELS`.
        largest: Upper bounds of integer fields by name, where they differ from `LARGEST_COUNT`; bounds of parent
            classes hold too.
        variants: Settings of the named variants of an architecture, by name; `of_variant` makes a configuration of one.
        nominal_sizes: Sizes for fields that depend on the data, with which `ctxzoo list` counts parameters.
        former_fields: Fields of earlier versions that were removed, each with the only value that is still supported;
            configurations with this value can be read.

    Raises:
        TypeError: a keyword argument is neither a declared field nor one of transformers' own; the message names the
            nearest known field.
        ValueError: a former field has another value than the one that is left.
        StrictDataclassError: a value has the wrong type, or a `validate_*` rule is broken.
    """

    # The registry sets this to a function that imports and registers the models of the config. In the code of a
    # checkpoint it is None.
    before_first_use: ClassVar[Callable[[], object] | None] = None
    # Likewise what returns the fields of a file of an earlier version in the names of today.
    of_today: ClassVar[Callable[[Mapping[str, Any]], dict[str, Any]] | None] = None
    takes_several_labels: ClassVar[bool] = False
    largest: ClassVar[Mapping[str, int]] = MappingProxyType({"vocab_size": LARGEST_TABLE})
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
    nominal_sizes: ClassVar[Mapping[str, int]] = MappingProxyType({})
    former_fields: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    def __post_init__(self, **kwargs: Any) -> None:
        """Accept former field names that still fit, refuse unknown ones, and let transformers check the rest."""
        load = type(self).before_first_use
        if load is not None:
            load()
        for name in self._merge_class_mappings("former_fields").keys() & kwargs.keys():
            self.check_old_field(name, kwargs.pop(name))
        field_names = {field.name for field in fields(self)}  # type: ignore[arg-type, unused-ignore]
        for name in kwargs:
            if name in TRANSFORMERS_NAMES:
                continue
            nearest = difflib.get_close_matches(name, field_names, n=1, cutoff=0.5)
            hint = f"; did you mean '{nearest[0]}'?" if nearest else f"; known fields: {sorted(field_names)}"
            raise TypeError(f"{type(self).__name__} has no field '{name}' (value {kwargs[name]!r}){hint}")
        if "num_labels" in kwargs:
            _check_num_labels(kwargs["num_labels"])
        super().__post_init__(**kwargs)

    def validate_numbers(self) -> None:
        """Check that every number of every field lies within its bound.

        Raises:
            ValueError: a number beyond its bound, or a list with more than `LARGEST_TABLE` names or, where `largest`
                does not give its numbers another bound, `LARGEST_COUNT` numbers.
        """
        bounds = self._merge_class_mappings("largest")
        for field in fields(self):  # type: ignore[arg-type, unused-ignore]
            value = getattr(self, field.name)
            values = value if isinstance(value, list) else [value]
            is_of_names = bool(values) and isinstance(values[-1], str)
            most = LARGEST_TABLE if is_of_names else max(LARGEST_COUNT, bounds.get(field.name, 0))
            if len(values) > most:
                raise ValueError(f"{field.name} has {len(values):,} entries; expected at most {most:,}")
            largest, allows_float = bounds.get(field.name, LARGEST_COUNT), _allows_float(field.type)
            for one in values:
                if isinstance(one, (int, float)) and not isinstance(one, bool):
                    _check_number(field.name, one, largest, allows_float)

    def validate_labels(self) -> None:
        """Check that there are at least two labels, numbered from 0, and a `problem_type` that the models have.

        Raises:
            ValueError: fewer labels, other numbers, or another `problem_type`.
        """
        if self.id2label is not None:
            _check_num_labels(len(self.id2label))
            if set(self.id2label) != set(range(len(self.id2label))):
                raise ValueError(f"id2label has the keys {sorted(self.id2label)[:10]}; expected 0, 1 and so on")
        several = (SEVERAL_LABELS,) if self.takes_several_labels else ()
        if self.problem_type not in (None, "single_label_classification", *several):
            raise ValueError(
                f"problem_type={self.problem_type!r}: a {type(self).__name__} takes "
                f"{' or '.join(map(repr, ('single_label_classification', *several)))}; set one, or leave it out"
            )

    def validate_padding(self) -> None:
        """Check that padding is row 0 of the word table.

        Raises:
            ValueError: another `pad_token_id`.
        """
        padding = getattr(self, "pad_token_id", None)
        if padding not in (None, 0):
            raise ValueError(f"pad_token_id must be 0, the row of the word table that is padding; got {padding!r}")

    def check_at_least_one(self, *names: str) -> None:
        """Raise ValueError if one of the named fields is below 1."""
        for name in names:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    def check_not_negative(self, *names: str) -> None:
        """Raise ValueError if one of the named fields is below 0; None is allowed."""
        for name in names:
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} must be 0 or above, got {getattr(self, name)}")

    def check_probabilities(self, *names: str) -> None:
        """Raise ValueError if one of the named fields is not from 0 to 1; None is allowed."""
        for name in names:
            if not 0 <= (getattr(self, name) or 0) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, or null; got {getattr(self, name)}")

    def check_dropout_rates(self, *names: str) -> None:
        """Raise ValueError if one of the named fields is no rate of dropout."""
        for name in names:
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, got {getattr(self, name)}")

    def check_names(self, field: str, size_field: str, expected: int, *, unique: bool = True) -> None:
        """Raise ValueError unless a field is empty or a list of `expected` names, all of them different.

        Args:
            field: Name of the field with the names; where it is None nothing is checked.
            size_field: Description of the required number of names, for the error message.
            expected: Number of things.
            unique: Whether all names have to be different.
        """
        names = getattr(self, field)
        if names is None:
            return
        if len(names) != expected:
            raise ValueError(f"{field} has {len(names)} entries, but {size_field}")
        if unique and len(set(names)) < expected:
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{field}: two have the name {twice!r}; names must differ")

    @classmethod
    def _merge_class_mappings(cls, name: str) -> dict[str, Any]:
        """Merge the mappings of one name that this class and its parents declare; a subclass's entries win."""
        merged: dict[str, Any] = {}
        for ancestor in reversed(cls.__mro__):
            merged |= vars(ancestor).get(name, {})
        return merged

    @classmethod
    def check_old_field(cls, name: str, value: Any) -> None:
        """Raise ValueError for a field of earlier versions, unless its value is how all models behave by now."""
        former = cls._merge_class_mappings("former_fields")
        if name in former and value != former[name]:
            raise ValueError(
                f"{name}={value!r}: {cls.__name__} has no such field any more, and its models are those of "
                f"{name}={former[name]!r}; the last version with other values is ctxzoo {LAST_WITH_FORMER_FIELDS}"
            )

    @classmethod
    def of_variant(cls: type[OfVariant], name: str, **changes: Any) -> OfVariant:
        """Return the configuration of one of `variants`; `changes` override its fields or add sizes that data decide.

        Raises:
            ValueError: unknown variant name; the message lists the known ones.
        """
        if name not in cls.variants:
            raise ValueError(f"unknown {cls.__name__} variant {name!r}; known: {', '.join(cls.variants) or 'none'}")
        return cls(**{**cls.variants[name], **changes})

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Return the configuration with the fields of a config.json, and refuse those of another architecture.

        transformers, whose method this overrides, only warns then.

        Raises:
            ValueError: `model_type` in the file is not the one of this class.
        """
        if cls.of_today is not None:
            config_dict = cls.of_today(config_dict)
        model_type = config_dict.get("model_type", cls.model_type)
        if model_type != cls.model_type:
            raise ValueError(
                f"this config is of model type {model_type!r}, but {cls.__name__} reads {cls.model_type!r}; load it "
                "with the Auto class or with its own class"
            )
        return super().from_dict(config_dict, **kwargs)


def get_class_reference(cls: type[Any]) -> str:
    """Return `module.Class` without the package, as an auto_map names a class of the checkpoint folder."""
    return f"{cls.__module__.rsplit('.', 1)[-1]}.{cls.__name__}"


def _check_number(name: str, value: int | float, largest: int, allows_float: bool) -> None:
    """Raise ValueError for a number beyond `largest`, or, in a field of fractions, beyond `LARGEST_FLOAT`."""
    if allows_float:
        if not abs(value) <= LARGEST_FLOAT:
            raise ValueError(f"{name} must be a finite number, at most {LARGEST_FLOAT:.0e} in size; got {value}")
    elif abs(value) > largest:
        raise ValueError(f"{name} must be at most {largest:,}, got {value}")


def _allows_float(annotation: Any) -> bool:
    """Return whether a type, such as `list[float] | None`, has a float in it at any depth."""
    return annotation is float or any(map(_allows_float, get_args(annotation)))


def _check_num_labels(number: Any) -> None:
    """Raise ValueError unless `num_labels` is a possible number of labels."""
    if type(number) is not int or not 2 <= number <= LARGEST_COUNT:
        raise ValueError(f"num_labels must be a whole number from 2 to {LARGEST_COUNT:,}, got {number!r}")
