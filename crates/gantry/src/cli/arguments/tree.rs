//! An object that is put together path by path. What is already there keeps its bytes and order.

use gantry::{ObjectWriter, RawJson};

/// A value, or an object of them.
#[derive(Debug)]
pub(super) enum Tree {
    Leaf(RawJson),
    Branch(Vec<(String, Tree)>),
}

impl Tree {
    /// The tree of an object; its members are leaves until a path leads into them.
    pub(super) fn of(value: &RawJson) -> Self {
        let members = value.members();
        let leaf = |key: String, value| (key, Self::Leaf(value));
        Self::Branch(members.map(|it| leaf(it.key().into_owned(), it.value())).collect())
    }

    /// Puts a value at the end of a path, in place of what is there.
    pub(super) fn put(&mut self, path: &[String], value: RawJson) {
        let Some((key, rest)) = path.split_first() else {
            *self = Self::Leaf(value);
            return;
        };
        if let Self::Leaf(leaf) = self {
            *self = Self::of(leaf);
        }
        let Self::Branch(members) = self else { return };
        let index = members.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            members.push((key.clone(), Self::Branch(Vec::new())));
            members.len() - 1
        });
        members[index].1.put(rest, value);
    }

    pub(super) fn to_json(&self) -> RawJson {
        match self {
            Self::Leaf(value) => value.clone(),
            Self::Branch(members) => {
                let write = |object: ObjectWriter, (key, value): &(String, Self)| {
                    object.raw(key, &value.to_json())
                };
                members.iter().fold(ObjectWriter::new(), write).finish()
            }
        }
    }
}
