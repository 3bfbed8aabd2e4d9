# SPDX-License-Identifier: Apache-2.0
"""A YAML loader that rejects repeated keys in a mapping."""

import pathlib

import yaml


class Loader(yaml.SafeLoader):
    """Rejects repeated keys."""


def _mapping(loader: Loader, node: yaml.MappingNode) -> dict:
    loader.flatten_mapping(node)
    seen = set()
    for key, _ in node.value:
        name = loader.construct_object(key)
        if name in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {name!r} is repeated", key.start_mark)
        seen.add(name)
    return loader.construct_mapping(node)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def documents(path: pathlib.Path) -> list:
    """Returns all documents of a file."""
    with path.open(encoding="utf-8") as file:
        return [document for document in yaml.load_all(file, Loader) if document is not None]


def document(path: pathlib.Path):
    """Returns the only document of a file."""
    (only,) = documents(path)
    return only
