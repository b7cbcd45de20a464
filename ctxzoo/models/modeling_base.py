"""`ZooPreTrainedModel`: complete weight initialisation, strict loading, and saving with the auto_map of every head."""

import logging
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from huggingface_hub import HfApi
from torch import nn
from transformers import PreTrainedModel
from transformers.dynamic_module_utils import custom_object_save, get_class_from_dynamic_module

from .configuration_base import SEVERAL_LABELS, ZooConfig, get_class_reference
from .ops_card import build_hub_card
from .ops_execution import refuse_jit_trace

logger = logging.getLogger(__name__)

LARGEST_MODEL = 2**32  # most numbers in the weights of a model; 16 GiB in single precision


class ZooPreTrainedModel(PreTrainedModel):
    """The base of every model of the zoo.

    A module that has parameters or buffers of its own must fill all of them in `reset_parameters`,
    through `torch.nn.init` or `transformers.initialization`, which leave tensors alone that a checkpoint has already
    filled. A module whose tensors need not be saved, because they follow from the config, says so in an attribute
    `is_derived_from_config`.

    Attributes:
        zoo_task: Name of the problem that a head solves, such as "question-answering"; None for a base model.
        zoo_auto_map: Name of an Auto class to `module.Class`, for the configuration and every head of the architecture.
        zoo_pipelines: Name of a pipeline task to the pipeline's class; checkpoints of this head carry its code.
        renamed_weights: End of a weight's name in checkpoints of earlier versions to its present end; `from_pretrained`
            reads both.
        logged_outputs: Names of scalars in the base model's output that training logs.
    """

    config: ZooConfig
    zoo_task: ClassVar[str | None] = None
    zoo_auto_map: ClassVar[dict[str, str]] = {}
    zoo_pipelines: ClassVar[dict[str, type[Any]]] = {}
    renamed_weights: ClassVar[Mapping[str, str]] = MappingProxyType({})
    logged_outputs: ClassVar[tuple[str, ...]] = ()
    _keys_to_ignore_on_save: Any = None
    _keys_to_ignore_on_load_missing: Any = None

    def post_init(self) -> None:
        """Refuse a model of too many numbers, draw its weights, and keep rebuilt tensors out of checkpoints."""
        if self.config.problem_type == SEVERAL_LABELS and self.zoo_task not in (None, "text-classification"):
            raise ValueError(
                f"problem_type={SEVERAL_LABELS!r}: a {type(self).__name__} does {self.zoo_task}, and only texts may "
                "have several labels; leave it out"
            )
        # While a checkpoint is loaded, nothing has memory yet.
        numbers = sum(x.numel() for x in (*self.parameters(), *self.buffers()))
        if numbers > LARGEST_MODEL:
            raise ValueError(
                f"the configuration asks for a {type(self).__name__} of {numbers:,} numbers; expected at most "
                f"{LARGEST_MODEL:,}: choose a smaller vocab_size or smaller widths"
            )
        super().post_init()
        rebuilt = {
            f"{name}.{key}"
            for name, module in self.named_modules()
            if getattr(module, "is_derived_from_config", False)
            for key in module.state_dict()
        }
        self._keys_to_ignore_on_save = set(self._keys_to_ignore_on_save or ()) | rebuilt
        ignored = {f"(^|\\.){re.escape(name)}$" for name in rebuilt}  # heads have a prefix in front
        self._keys_to_ignore_on_load_missing = set(self._keys_to_ignore_on_load_missing or ()) | ignored
        # The loader puts a new, trainable parameter in place of each one; `from_pretrained` freezes these again.
        self._frozen_names = {name for name, parameter in self.named_parameters() if not parameter.requires_grad}

    def resolve_output_flag(self, requested: bool | None, name: str) -> bool:
        """Return whether to output `name` ("attentions", "hidden_states"): as requested, or as the config says."""
        return bool(getattr(self.config, f"output_{name}")) if requested is None else requested

    def resolve_return_dict(self, requested: bool | None) -> bool:
        """Return whether to output a `ModelOutput`, not a tuple: as requested, or as the config says."""
        return bool(self.config.return_dict) if requested is None else requested

    @property
    def dtype(self) -> torch.dtype:
        """The type of the parameters; the default type where none is left, as in a quantised model."""
        return next((x.dtype for x in self.parameters() if x.is_floating_point()), torch.get_default_dtype())

    @property
    def device(self) -> torch.device:
        """The device of the parameters; the CPU where none is left, as in a quantised model."""
        return next((x.device for x in self.parameters()), torch.device("cpu"))

    def _set_gradient_checkpointing(self, enable: bool = True, *args: Any, **options: Any) -> None:
        """Switch gradient checkpointing as transformers does, if the model supports it.

        Raises:
            ValueError: `use_reentrant=True`, which loses the gradient of what blocks give beside their steps; or
                another `every_n_layers` than 1.
        """
        function = options.get("gradient_checkpointing_func", args[0] if args else None)
        if enable and getattr(function, "keywords", {}).get("use_reentrant", False):
            raise ValueError("gradient checkpointing with use_reentrant=True is not supported; expected False")
        if enable and options.get("every_n_layers", 1) != 1:
            raise ValueError(f"every_n_layers={options['every_n_layers']} is not supported; expected 1, every layer")
        super()._set_gradient_checkpointing(enable, *args, **options)

    def _slow_forward(self, *args: Any, **kwargs: Any) -> Any:
        """Raise an error under `torch.jit.trace`, which calls this rather than `forward` and cannot trace us."""
        refuse_jit_trace(type(self).__name__)
        return super()._slow_forward(*args, **kwargs)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw the weights that `module` itself holds, by its own `reset_parameters` or start."""
        start = vars(module).get("start")  # of a linear layer of `make_linear`
        if start is not None:
            start(module)
            return
        reset = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
        if reset is not None:
            reset()
        elif any(True for _ in module.parameters(recurse=False)) or any(True for _ in module.buffers(recurse=False)):
            raise NotImplementedError(f"{type(module).__name__} holds tensors but has no reset_parameters()")

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the model of a checkpoint, as in transformers, but with errors in place of random weights.

        Frozen parameters stay frozen. Only safetensors files are read, unless `use_safetensors=False` requests a
        pickled one. What a class of a user's own saved, derived from this one, loads as that class.

        Raises:
            OSError: a file is missing, or the weights are damaged; the message names the folder.
            ValueError: the file holds weights, but none of this model; a class of a user's own saved it, which is not
                imported.
        """
        source = pretrained_model_name_or_path
        wants_info = kwargs.pop("output_loading_info", False)
        kwargs.setdefault("use_safetensors", True)
        kwargs.setdefault("key_mapping", dict(cls.renamed_weights) or None)
        if source is not None and os.path.isdir(source) and kwargs.get("config") is None:
            # transformers would go on with the default configuration.
            config_file = os.path.join(source, kwargs.get("subfolder", ""), "config.json")
            if not os.path.isfile(config_file):
                raise OSError(f"no config.json in the checkpoint folder: {config_file} does not exist")
        try:
            model, info = super().from_pretrained(source, *args, output_loading_info=True, **kwargs)
        except Exception as error:
            if type(error).__name__ != "SafetensorError":  # the library it comes from is not ours to import
                raise
            raise OSError(
                f"the weights of {str(source)!r} are damaged or incomplete ({error}); copy or download them again"
            ) from error
        # Only the configuration says which class saved the weights; it has come with the model.
        own = cls._find_saving_class(model.config)
        if own is not None:
            return own.from_pretrained(source, *args, output_loading_info=wants_info, **kwargs)
        # With the checkpoint of another model every name is unexpected and every weight newly drawn; transformers only
        # warns of it.
        expected = set(model.state_dict()) - set(model._keys_to_ignore_on_save or ())
        if info["unexpected_keys"] and expected <= set(info["missing_keys"]):
            raise ValueError(
                f"{str(source)!r} holds no weights of {cls.__name__}: it has {sorted(info['unexpected_keys'])[:3]}…, "
                f"expected were {sorted(info['missing_keys'])[:3]}…"
            )
        for name in model._frozen_names:
            model.get_parameter(name).requires_grad_(False)
        return (model, info) if wants_info else model

    @classmethod
    def _find_saving_class(cls, config: Any) -> "type[ZooPreTrainedModel] | None":
        """Return the user's subclass that saved a checkpoint, if this class would misread it; else None.

        Raises:
            ValueError: it is not imported.
        """
        zoo_names = {_get_class_name(reference) for reference in cls.zoo_auto_map.values()}
        name = next(iter(config.architectures or ()), None)
        if not zoo_names or name is None or name in {cls.__name__, *zoo_names}:
            return None
        replaced_references = {
            cls.zoo_auto_map.get(auto)
            for auto, reference in (config.auto_map or {}).items()
            if _get_class_name(reference) == name
        }
        if not replaced_references:  # saved without its module: any head
            replaced_references = {reference for auto, reference in cls.zoo_auto_map.items() if auto != "AutoModel"}
        if get_class_reference(cls) not in replaced_references:
            return None  # the base model below a head, say
        subclasses = [cls]
        for model_class in subclasses:
            subclasses += model_class.__subclasses__()  # the list grows while it is read: all classes below this one
        # Several may have this name, as where a cell of a notebook ran twice: the last of the list is taken.
        saving_class = next((model_class for model_class in reversed(subclasses) if model_class.__name__ == name), None)
        if saving_class is None:
            raise ValueError(
                f"the checkpoint was saved by {name}, a class of its own, for which {cls.__name__} would be another "
                "model; import the module of that class first"
            )
        return saving_class

    def save_pretrained(self, save_directory: Any, *args: Any, **kwargs: Any) -> None:
        """Save the model as in transformers; the auto_map names every head, and the files of pipelines come along.

        Of a class that is derived from one of ours the module is saved too, and the auto_map names it in the place of
        ours: with ctxzoo installed the folder loads as that class with `trust_remote_code=True`. Where there is no
        module to save (a class of a notebook or of `__main__`, or a module with a name of ours), the folder gets no
        auto_map, and a warning says so. `push_to_hub=True` also calls `push_to_hub`.
        """
        push_options = None
        if kwargs.pop("push_to_hub", False):
            names = ("commit_message", "commit_description", "private", "revision", "create_pr", "tags")
            push_options = {name: kwargs.pop(name) for name in names if name in kwargs}
            push_options["token"] = kwargs.get("token")
            repo_id = kwargs.pop("repo_id", os.path.basename(os.path.abspath(save_directory)))
        if self.zoo_auto_map:
            previous = getattr(self.config, "auto_map", None) or {}
            self.config.auto_map = {**previous, **self.zoo_auto_map}
        own_class, auto_class = type(self), type(self)._auto_class
        if (
            self.zoo_auto_map
            and get_class_reference(own_class) not in self.zoo_auto_map.values()
            and not self._has_savable_module()
        ):
            logger.warning(
                "%s is a class of its own without a module that can be saved: the checkpoint has no code, and no "
                "auto_map of a model; load it with %s.from_pretrained",
                own_class.__name__,
                own_class.__name__,
            )
            self.config.auto_map = {}
            own_class._auto_class = None  # transformers would copy the code of the class that this one is derived from
        pipelines = self._collect_pipelines()
        if pipelines:
            self.config.custom_pipelines = build_pipeline_entries(pipelines)
            os.makedirs(save_directory, exist_ok=True)
            for cls in pipelines.values():
                custom_object_save(cls, save_directory)
        try:
            super().save_pretrained(save_directory, *args, **kwargs)
        finally:
            own_class._auto_class = auto_class
        if push_options is not None:
            self.push_to_hub(repo_id, **push_options)

    def push_to_hub(
        self,
        repo_id: str,
        *,
        commit_message: str | None = None,
        commit_description: str | None = None,
        private: bool | None = None,
        token: bool | str | None = None,
        revision: str | None = None,
        create_pr: bool = False,
        max_shard_size: int | str | None = "50GB",
        tags: str | Sequence[str] | None = None,
    ) -> Any:
        """Upload the model as transformers does, in one commit, with a card that says what it is and how it is loaded.

        A card that the repository has keeps its text, unless it is that of transformers, which says nothing. The
        arguments are those of transformers, and so is what is returned, a `CommitInfo`.

        Raises:
            HfHubHTTPError: The Hub refuses the token or the repository.
        """
        api = HfApi(token=token)
        repo_id = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
        if revision is not None and not revision.startswith("refs/pr"):
            api.create_branch(repo_id, branch=revision, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            self.save_pretrained(folder, max_shard_size=max_shard_size)
            if os.path.exists(os.path.join(folder, "generation_config.json")):
                os.remove(os.path.join(folder, "generation_config.json"))  # transformers makes it of the configuration
            card = build_hub_card(self, repo_id, tags=[tags] if isinstance(tags, str) else tags or (), token=token)
            card.save(os.path.join(folder, "README.md"))
            return api.upload_folder(
                repo_id=repo_id,
                folder_path=folder,
                commit_message=commit_message or "Upload model",
                commit_description=commit_description,
                revision=revision,
                create_pr=create_pr,
            )

    def _has_savable_module(self) -> bool:
        """Return whether the class is defined in a file that can be saved beside those of the architecture."""
        module = sys.modules.get(type(self).__module__)
        ours = {reference.partition(".")[0] for reference in self.zoo_auto_map.values()}
        name = type(self).__module__.rpartition(".")[2]
        return name != "__main__" and getattr(module, "__file__", None) is not None and name not in ours

    def _collect_pipelines(self) -> dict[str, type[Any]]:
        """Return the pipeline classes to save with this model, by task: those registered, and those of its checkpoint.

        Raises:
            OSError: the checkpoint's pipeline file is gone.
        """
        pipelines = dict(self.zoo_pipelines)
        for task, entry in (getattr(self.config, "custom_pipelines", None) or {}).items():
            if task not in pipelines:
                pipelines[task] = get_class_from_dynamic_module(
                    entry["impl"], self.config.name_or_path, revision=getattr(self.config, "_commit_hash", None)
                )
        return pipelines


def build_pipeline_entries(pipelines: Mapping[str, type[Any]]) -> dict[str, dict[str, Any]]:
    """Return the `custom_pipelines` of a configuration, by task, for pipelines whose code is saved beside it."""
    return {task: {"impl": get_class_reference(cls), "pt": [cls.auto_model]} for task, cls in pipelines.items()}


def _get_class_name(reference: Any) -> str:
    """Return the name of the class in an entry of an auto_map, without its module."""
    return str(reference).rpartition(".")[2]
