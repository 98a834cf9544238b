//! Filtered snapshots: what callers see who do not see everything. One is built for each set of view keys and
//! shared by all callers with the same keys, so that access rules cost a list nothing.

use std::sync::{Arc, Mutex, PoisonError};

use super::snapshot::Snapshot;
use crate::filter::View;

/// So many different views of one state are kept. Those who see the same share one.
const KEPT: usize = 64;

/// The parts that were asked for, the latest one last.
#[derive(Default)]
pub(super) struct FilteredSnapshots(Mutex<Vec<(Key, Arc<Snapshot>)>>);

/// The keys of the views that show it.
type Key = Box<[u128]>;

impl FilteredSnapshots {
    /// The part that these views show. It is made with no lock held: two who ask at once may both
    /// make it.
    pub(super) fn get_or_build(
        &self,
        views: &[View],
        make: impl FnOnce() -> Snapshot,
    ) -> Arc<Snapshot> {
        let is_meant =
            |(key, _): &(Key, Arc<Snapshot>)| key.iter().eq(views.iter().map(|view| &view.key));
        let known = self.with(|parts| parts.iter().find(|it| is_meant(it)).map(|it| it.1.clone()));
        known.unwrap_or_else(|| {
            let (key, part) = (views.iter().map(|view| view.key).collect(), Arc::new(make()));
            self.with(|parts| {
                if parts.len() >= KEPT {
                    parts.remove(0);
                }
                parts.push((key, Arc::clone(&part)));
            });
            part
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<(Key, Arc<Snapshot>)>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::PageSettings;
    use super::*;
    use crate::names::NameStyle;

    #[test]
    fn views_share_a_part_only_if_all_their_keys_are_the_same() {
        let pages = PageSettings {
            size: 1,
            bytes: 1,
            ttl_ms: 0,
            public: false,
            names: NameStyle::default(),
        };
        let parts = FilteredSnapshots::default();
        let part = |keys: &[u128]| {
            let view = |key: &u128| View { key: *key, is_secret: true, sees: Arc::new(|_| true) };
            let views: Vec<View> = keys.iter().map(view).collect();
            parts.get_or_build(&views, || Snapshot::empty(&pages))
        };
        let known = part(&[7, 8]);
        let cases: [(&[u128], bool); 6] = [
            (&[7, 8], true),
            (&[8, 7], false),
            (&[7], false),
            (&[7, 8, 9], false),
            (&[7, 8 | 1 << 64], false),
            (&[7 | 1 << 127, 8], false),
        ];
        for (keys, expected) in cases {
            assert_eq!(Arc::ptr_eq(&part(keys), &known), expected, "{keys:?}");
        }
    }

    #[test]
    fn the_oldest_part_gives_way() {
        let pages = PageSettings {
            size: 1,
            bytes: 1,
            ttl_ms: 0,
            public: false,
            names: NameStyle::default(),
        };
        let parts = FilteredSnapshots::default();
        for key in 0..2 * KEPT as u128 {
            let view = View { key, is_secret: true, sees: Arc::new(|_| true) };
            parts.get_or_build(&[view], || Snapshot::empty(&pages));
        }
        assert_eq!(parts.with(|parts| parts.len()), KEPT);
    }
}
