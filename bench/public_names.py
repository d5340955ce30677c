#!/usr/bin/env python3
"""Counts what a user of a Python package can learn by name: its public names, classes and methods, read from the
sources (wheels or folders) without importing them.

  pip download --no-deps -d /tmp/names flow_matching sdv
  bench/public_names.py /tmp/names/*.whl python/segre [--list]

A public name has no leading underscore, and neither has any module on the way to it. A module with `__all__` gives the
names in it; any other gives its functions, classes and assigned constants, and what it imports from its own package.
What several modules give is counted once. Modules are not counted as names. A class has the methods and properties of
its body and of base classes that are not public themselves; a method that several classes inherit is counted once.

The second count is of packages only (`__init__` files): what is left if module files are taken for internal.
"""

import argparse
import ast
import re
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Definition:
    """Where a name comes from, and what it is: function, class, constant, module, foreign (from another package), or
    other (not in the sources)."""
    module: str
    name: str
    kind: str


@dataclass
class Module:
    """A source file. `names` are its own, with their kinds, and those that it imports from its own package, as (module,
    name in it), or (module, None) for the module itself."""
    name: str
    is_package: bool
    is_stub: bool
    names: dict[str, str | tuple] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)  # modules of its own package, all of whose names it imports
    exported: list[str] | None = None  # __all__


def is_public(name):
    return not any(part.startswith("_") for part in name.split("."))


# ---- reading one module ----------------------------------------------------------------------------------------------


def is_skipped(test):
    """Whether a condition holds only for type checkers or for scripts."""
    names = {getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(test)}
    return bool(names & {"TYPE_CHECKING", "__name__"})


def statements(body):
    """The statements that an import may run if nothing is missing: both branches of a condition, no handlers."""
    for statement in body:
        if isinstance(statement, ast.If):
            if not is_skipped(statement.test):
                yield from statements(statement.body)
            yield from statements(statement.orelse)
        elif isinstance(statement, ast.Try):
            yield from statements([*statement.body, *statement.orelse, *statement.finalbody])
        else:
            yield statement


def assigned_names(statement):
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        for node in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if isinstance(node, ast.Name):
                yield node.id


def literal_names(value):
    """The strings of a list that may be a sum of lists; None if they are not all written out."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts = [literal_names(value.left), literal_names(value.right)]
        return None if None in parts else parts[0] + parts[1]
    try:
        return list(ast.literal_eval(value))
    except ValueError:
        return None


def added_to_all(statement):
    """What a statement adds to `__all__`, as an expression; None if it is about something else."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and "__all__" in assigned_names(statement):
        return statement.value
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "__all__.extend":
        return call.args[0]
    return None


def source_of(module, statement):
    """The module that a `from ... import` names."""
    if not statement.level:
        return statement.module
    parts = module.name.split(".")
    parts = parts[: len(parts) - statement.level + module.is_package]
    return ".".join([*parts, statement.module] if statement.module else parts)


def read_import(module, statement):
    top = module.name.split(".")[0]
    is_from = isinstance(statement, ast.ImportFrom)
    for alias in statement.names:
        source = source_of(module, statement) if is_from else alias.name
        name = alias.asname or alias.name.split(".")[0]
        if source.split(".")[0] != top:
            module.names[name] = "foreign"
        elif alias.name == "*":
            module.stars.append(source)
        elif is_from:
            module.names[name] = (source, alias.name)
        else:
            module.names[name] = (source if alias.asname else top, None)


def read_module(name, is_package, is_stub, text):
    module = Module(name, is_package, is_stub)
    for statement in statements(ast.parse(text).body):
        added = added_to_all(statement)
        if added is not None:
            names = literal_names(added)
            if names is None:
                print(f"{name}: a part of __all__ is computed and left out: {ast.unparse(added)}", file=sys.stderr)
            module.exported = (module.exported or []) + (names or [])
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            module.names[statement.name] = "function"
        elif isinstance(statement, ast.ClassDef):
            module.names[statement.name] = "class"
            module.classes[statement.name] = statement
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            module.names.update(dict.fromkeys(assigned_names(statement), "constant"))
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            read_import(module, statement)
    return module


# ---- a package as a whole --------------------------------------------------------------------------------------------


class Package:
    """The modules of a package and what their names refer to."""

    def __init__(self, modules):
        self.modules = modules

    def resolve(self, module, name, seen=()):
        """What a name in a module refers to; None if the module does not have it."""
        if module not in self.modules:
            return Definition(module, name, "other")  # compiled
        here = self.modules[module]
        if (module, name) not in seen:  # a package may import its own submodule by name
            seen = (*seen, (module, name))
            source = here.names.get(name)
            if isinstance(source, str):
                return Definition(module, name, source)
            if source:
                return self.imported(*source, seen)
            for star in filter(self.modules.get, here.stars):
                if found := self.resolve(star, name, seen):
                    return found
        inside = f"{module}.{name}"
        return Definition(inside, "", "module") if inside in self.modules else None

    def imported(self, module, name, seen):
        if name is None:
            return Definition(module, "", "module")
        return self.resolve(module, name, seen) or Definition(module, name, "other")

    def candidates(self, name, seen=()):
        """The names that `import *` would take from a module, or would if they were there."""
        here = self.modules[name]
        if here.exported is not None:
            return here.exported
        names = list(here.names)
        for star in filter(self.modules.get, here.stars):
            if star not in seen:
                names += self.candidates(star, (*seen, name))
        return names

    def given(self, name):
        """The public names of a module, as {name: Definition}."""
        here = self.modules[name]
        names = {}
        for key in filter(is_public, self.candidates(name)):
            found = self.resolve(name, key)
            if found is None and "__getattr__" in here.names:
                found = Definition(name, key, "other")  # made when it is asked for
            if found and (found.kind != "foreign" or here.exported is not None):
                names[key] = found
        return names

    def public(self, only_packages=False):
        """What public modules give, as {Definition: the shortest path to it}."""
        paths = {}
        for name, module in self.modules.items():
            if not is_public(name) or (only_packages and not module.is_package):
                continue
            for key, found in self.given(name).items():
                if found.kind != "module":
                    paths.setdefault(found, []).append(f"{name}.{key}")
        return {found: shortest(found, given) for found, given in paths.items()}

    def bases(self, found):
        """The base classes of a class that belong to the package."""
        for base in self.modules[found.module].classes[found.name].bases:
            base = base.value if isinstance(base, ast.Subscript) else base
            first, _, rest = ast.unparse(base).partition(".")
            target = self.resolve(found.module, first)
            if target and target.kind == "module" and rest:
                target = self.resolve(target.module, rest)
            if target and target.kind == "class":
                yield target

    def methods(self, found, public):
        """The public methods and properties of a class, as {(Definition of the class that has it, name)}."""
        if found.kind != "class":
            return set()
        module = self.modules[found.module]
        names = own_methods(module.classes[found.name].body, module.is_stub)
        methods = {(found, name) for name in names}
        for base in self.bases(found):
            if base not in public:
                methods |= {(owner, name) for owner, name in self.methods(base, public) if name not in names}
        return methods


def shortest(found, paths):
    """Of equally short paths the one where it is defined."""
    return min(paths, key=lambda path: (path.count("."), path != f"{found.module}.{found.name}", path))


def own_methods(body, is_stub):
    """Public methods and properties in the body of a class; a stub may give a property as a typed name."""
    names = set()
    for statement in statements(body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign) and ast.unparse(statement.value).startswith("property("):
            names.update(assigned_names(statement))
        elif isinstance(statement, ast.AnnAssign) and is_stub:
            names.update(assigned_names(statement))
    return set(filter(is_public, names))


# ---- wheels and folders ----------------------------------------------------------------------------------------------


def sources_in_wheel(path):
    """{path in the wheel: text} of the package that the wheel is named after, or of all if there is none."""
    with zipfile.ZipFile(path) as wheel:
        files = {name: wheel.read(name).decode() for name in wheel.namelist() if name.endswith((".py", ".pyi"))}
    named = plain(path.name.split("-")[0])
    own = {name: text for name, text in files.items() if plain(name.split("/")[0].split(".")[0]) == named}
    return own or files


def plain(name):
    return re.sub(r"[-_.]+", "_", name).lower()


def sources_in_folder(path):
    """{path: text} of a package, or of all packages in a folder."""
    root = path.parent if any(path.glob("__init__.py*")) else path
    return {str(file.relative_to(root)): file.read_text() for file in sorted(path.rglob("*.py*"))
            if file.suffix in (".py", ".pyi")}


def package_of(sources):
    modules = {}
    for path in sorted(sources):  # X.py before X.pyi, which counts only where there is nothing else
        parts = path.rpartition(".")[0].split("/")
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        if name not in modules:
            modules[name] = read_module(name, is_package, path.endswith(".pyi"), sources[path])
    return Package(modules)


def title(path, sources):
    """Name and version."""
    if path.suffix == ".whl":
        return " ".join(path.name.split("-")[:2])
    versions = [re.search(r"^__version__ = ['\"](.+)['\"]", text, re.M) for name, text in sources.items()
                if name.endswith("__init__.py")]
    return " ".join([path.name, *(found[1] for found in versions[:1] if found)])


def count(package, public):
    classes = [found for found in public if found.kind == "class"]
    methods = set().union(*(package.methods(found, public) for found in classes))
    return f"{len(public)} public names, {len(classes)} classes, {len(methods)} methods and properties"


def print_names(package, public):
    """One to a line; classes with the number of their methods and properties."""
    for found, path in sorted(public.items(), key=lambda item: item[1]):
        methods = {name for _, name in package.methods(found, public)}
        print(f"  {found.kind:8}  {path}" + (f"  ({len(methods)})" if methods else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="+", type=Path, help="wheel, or folder of a package")
    parser.add_argument("--list", action="store_true", help="print the names as well")
    arguments = parser.parse_args()
    for path in arguments.package:
        sources = sources_in_wheel(path) if path.suffix == ".whl" else sources_in_folder(path.resolve())
        if not sources:
            sys.exit(f"{path}: has no Python sources")
        package = package_of(sources)
        public = package.public()
        print(f"{title(path, sources)}: {count(package, public)}; "
              f"of packages: {count(package, package.public(only_packages=True))}")
        if arguments.list:
            print_names(package, public)


if __name__ == "__main__":
    main()
