//! What a server listed last, verbatim, with a cache file on disk: tools are listed before a
//! server is started again. A list that comes from the cache is stale: it is shown, but never
//! pinned, and calls wait for the server's own list.

use std::fs;
use std::io;
use std::path::Path;

use gantry_client::{ChangedList, List, Listed};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};

/// The largest file that is read.
const LIMITS: JsonLimits = JsonLimits { size: 256 * 1024 * 1024, depth: 256 };

/// The member of the file that tells of tasks.
const MAKES_TASKS: &str = "makesTasks";

/// The member of the file that tells which server it was.
const IDENTITY: &str = "identity";

/// The four lists.
pub(super) const ALL: [List; 4] = [List::Tools, List::Resources, List::Templates, List::Prompts];

/// The lists that one notification is about.
pub(super) fn changed_by(changed: ChangedList) -> Vec<List> {
    match changed {
        ChangedList::Tools => vec![List::Tools],
        ChangedList::Prompts => vec![List::Prompts],
        ChangedList::Resources => vec![List::Resources, List::Templates],
    }
}

/// What a server listed last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lists {
    items: [Vec<RawJson>; 4],
    /// Which of them come from a cache, and were not listed in this run.
    cached: [bool; 4],
    troubles: [Option<String>; 4],
    /// How to use the server, for the model.
    pub(super) instructions: Option<String>,
    /// Whether it may make a task of any call, which it does not say of single tools.
    pub(super) makes_tasks: bool,
}

impl Lists {
    /// The definitions of one list.
    pub(super) fn items(&self, list: List) -> &[RawJson] {
        &self.items[index(list)]
    }

    /// Whether a list comes from a cache, and was not listed in this run.
    pub(super) fn is_cached(&self, list: List) -> bool {
        self.cached[index(list)]
    }

    /// What went wrong with one list.
    pub(super) fn trouble(&self, list: List) -> Option<&str> {
        self.troubles[index(list)].as_deref()
    }

    /// What went wrong with the lists.
    pub(super) fn troubles(&self) -> impl Iterator<Item = &str> {
        self.troubles.iter().flatten().map(String::as_str)
    }

    /// Puts a list in the place of its predecessor.
    pub(super) fn replace(&mut self, list: List, listed: Listed) {
        self.cached[index(list)] = false;
        self.troubles[index(list)] = listed.truncated;
        self.items[index(list)] = listed.items;
    }

    /// Keeps of all lists together no more than so many bytes, in the order tools, resources,
    /// templates, prompts. What is beyond is left out, and told.
    pub(super) fn bound(&mut self, limit: usize) {
        let mut size = 0usize;
        for (items, trouble) in self.items.iter_mut().zip(&mut self.troubles) {
            let before = items.len();
            items.retain(|item| {
                let fits = size.saturating_add(item.bytes().len()) <= limit;
                size += if fits { item.bytes().len() } else { 0 };
                fits
            });
            let left_out = before - items.len();
            if left_out > 0 {
                let text = format!(
                    "{left_out} definitions left out: all lists of a server may have {limit} bytes \
                     together; raise `limits.definitions`"
                );
                *trouble = Some(match trouble.take() {
                    Some(known) => format!("{known}; {text}"),
                    None => text,
                });
            }
        }
    }

    /// Notes that a list could not be had. What was known of it stays.
    pub(super) fn note(&mut self, list: List, trouble: String) {
        self.troubles[index(list)] = Some(trouble);
    }

    /// Reads what was kept, and of which server; none if nothing was, or if it cannot be read. A
    /// file of an earlier version, which does not say of which server it is, is left alone.
    pub(super) fn load(file: &Path) -> Option<(String, Self)> {
        let bytes = fs::read(file).ok()?;
        let kept = RawJson::parse(bytes, LIMITS).ok().filter(RawJson::is_object)?;
        let identity = kept.get(IDENTITY)?.to_text()?;
        let items = ALL.map(|list| match kept.get(list.member()) {
            Some(items) => items.elements().collect(),
            None => Vec::new(),
        });
        let instructions = kept.get("instructions").and_then(|text| text.to_text());
        let makes_tasks = kept.get(MAKES_TASKS).and_then(|it| it.read()) == Some(true);
        let (cached, troubles) = ([true; 4], Default::default());
        Some((identity, Self { items, cached, troubles, instructions, makes_tasks }))
    }

    /// Keeps it. The file is replaced as a whole, so that nobody reads half of one.
    pub(super) fn save(&self, file: &Path, identity: &str) -> io::Result<()> {
        let mut kept = ObjectWriter::new().value(IDENTITY, identity);
        for list in ALL {
            kept = kept.array(list.member(), self.items(list));
        }
        let kept = kept
            .value_some("instructions", self.instructions.as_deref())
            .value(MAKES_TASKS, &self.makes_tasks)
            .finish();
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        let draft = file.with_extension(format!("{}.new", std::process::id()));
        fs::write(&draft, kept.bytes())?;
        fs::rename(&draft, file)
    }
}

fn index(list: List) -> usize {
    match list {
        List::Tools => 0,
        List::Resources => 1,
        List::Templates => 2,
        List::Prompts => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lists_together_are_bounded() {
        let items = |sizes: &[usize]| {
            sizes.iter().map(|size| RawJson::string(&"x".repeat(size - 2))).collect::<Vec<_>>()
        };
        // The sizes in tools and in prompts, and how many are left of each within a hundred bytes.
        let cases: [(&[usize], &[usize], [usize; 2]); 5] = [
            (&[50], &[50], [1, 1]),
            (&[50, 50], &[10, 10], [2, 0]),
            (&[90, 20, 10], &[10], [2, 0]),
            (&[101], &[100], [0, 1]),
            (&[], &[], [0, 0]),
        ];
        for (tools, prompts, expected) in cases {
            let mut lists = Lists::default();
            for (list, sizes) in [(List::Tools, tools), (List::Prompts, prompts)] {
                lists.replace(list, Listed { items: items(sizes), ..Listed::default() });
            }
            lists.bound(100);
            let left = [List::Tools, List::Prompts].map(|list| lists.items(list).len());
            assert_eq!(left, expected, "{tools:?}, {prompts:?}");
            let is_told = lists.troubles().any(|it| it.contains("limits.definitions"));
            assert_eq!(is_told, left != [tools.len(), prompts.len()], "{tools:?}, {prompts:?}");
        }
    }

    #[test]
    fn lists_are_kept_as_they_were_said() {
        let folder = std::env::temp_dir().join(format!("gantry-lists-{}", std::process::id()));
        let instructions = Some("be kind".to_owned());
        let mut lists = Lists { instructions, makes_tasks: true, ..Lists::default() };
        let tool = RawJson::from_static(r#"{"name":"a", "x":1.50,"big":12345678901234567890123}"#);
        let listed = Listed { items: vec![tool], ..Listed::default() };
        lists.replace(List::Tools, listed.clone());
        lists.replace(List::Prompts, listed);
        let file = folder.join("here.json");
        lists.save(&file, "program:1").unwrap();
        let (identity, read) = Lists::load(&file).unwrap();
        assert_eq!((identity.as_str(), read.cached), ("program:1", [true; 4]));
        assert_eq!(read, Lists { cached: [true; 4], ..lists });
        assert_eq!(Lists::load(&folder.join("elsewhere.json")), None);
        // As an earlier version wrote it.
        fs::write(&file, r#"{"tools":[{"name":"a"}]}"#).unwrap();
        assert_eq!(Lists::load(&file), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
