//! Room for one more token: names are given once, and there is an end to how many are kept.

use super::{TokenError, TokenState, TokenTable};
use crate::token::TokenRecord;

/// Makes sure that a record fits in. Gives the ids of those that go for it: the oldest that are
/// over.
pub(super) fn make(
    table: &mut TokenTable,
    limit: usize,
    record: &TokenRecord,
    now: u64,
) -> Result<Vec<String>, TokenError> {
    let same = |held: &TokenState| held.record.name.eq_ignore_ascii_case(&record.name);
    let mut living = table.values().filter(|held| !held.record.is_dead(now));
    if living.any(|held| same(held)) || table.contains_key(&record.id) {
        return Err(TokenError::Taken(record.name.clone()));
    }
    let mut dead: Vec<_> =
        table.values().map(|it| &it.record).filter(|it| it.is_dead(now)).collect();
    dead.sort_by_key(|record| record.created);
    let surplus = (table.len() + 1).saturating_sub(limit);
    if dead.len() < surplus {
        return Err(TokenError::TooMany(limit));
    }
    let surplus: Vec<String> = dead.iter().take(surplus).map(|it| it.id.clone()).collect();
    surplus.iter().for_each(|id| drop(table.remove(id)));
    Ok(surplus)
}
