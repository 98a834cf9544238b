//! Totals, shares, and permits that give back what they hold.

use crate::quota::*;

fn table(settings: &Settings) -> Arc<QuotaTable> {
    let table = QuotaTable::new(settings);
    table.share_among_principals();
    table
}

fn account(table: &Arc<QuotaTable>, principal: &str) -> Arc<Account> {
    table.account(&Arc::from(principal))
}

/// Takes one until no more can be had. Gives the permits and why there are no more.
fn exhaust(account: &Arc<Account>, resource: Resource) -> (Vec<Permit>, QuotaExceeded) {
    let mut permits = Vec::new();
    loop {
        match account.acquire(resource, 1) {
            Ok(permit) => permits.push(permit),
            Err(exceeded) => return (permits, exceeded),
        }
    }
}

#[test]
fn a_principal_has_its_share_of_each_total() {
    let settings = || Settings { sessions: 10, parked: 40, tasks: 3, ..Settings::default() };
    let cases = [
        (settings(), Resource::Sessions, 2),
        (settings(), Resource::Parked, 10),
        (settings(), Resource::Tasks, 1),
        (Settings { principal_share: 50, ..settings() }, Resource::Sessions, 5),
        (Settings { principal_share: 100, ..settings() }, Resource::Sessions, 10),
        (Settings { principal_share: 0, ..settings() }, Resource::Sessions, 1),
        (Settings { parked_of_principal: 7, ..settings() }, Resource::Parked, 7),
    ];
    for (settings, resource, expected) in cases {
        let table = table(&settings);
        let (permits, exceeded) = exhaust(&account(&table, "ada"), resource);
        assert_eq!(permits.len(), expected, "{resource:?}");
        let text = exceeded.to_string();
        assert!(text.contains(&format!("limit of {expected} ")), "{text}");
        assert!(text.contains("`clientLimits`"), "{text}");
    }
}

#[test]
fn a_single_principal_may_hold_everything() {
    let table = QuotaTable::new(&Settings { sessions: 10, ..Settings::default() });
    let (permits, exceeded) = exhaust(&account(&table, "local"), Resource::Sessions);
    assert_eq!(permits.len(), 10);
    assert!(!exceeded.is_of_principal(), "{exceeded}");
}

#[test]
fn what_is_dropped_is_given_back() {
    let table = table(&Settings { sessions: 8, held: 400, ..Settings::default() });
    let ada = account(&table, "ada");
    let (permits, exceeded) = exhaust(&ada, Resource::Sessions);
    assert!(exceeded.is_of_principal(), "{exceeded}");
    let other =
        account(&table, "bob").acquire(Resource::Sessions, 1).expect("others have their own");
    drop(permits);
    assert_eq!(table.used(Resource::Sessions), 1);
    let mut held = ada.acquire(Resource::Held, 60).expect("there is room");
    assert!(held.grow(41).is_err(), "a failed attempt takes nothing");
    held.grow(40).expect("there is room");
    held.shrink(90);
    assert_eq!(table.used(Resource::Held), 10);
    drop((held, other));
    assert_eq!((table.used(Resource::Held), table.used(Resource::Sessions)), (0, 0));
    drop(ada);
    assert!(table.accounts().is_empty(), "no account stays that holds nothing");
}

#[test]
fn the_total_holds_for_all_principals_together() {
    let table = table(&Settings { streams: 8, principal_share: 50, ..Settings::default() });
    let (_ada, _) = exhaust(&account(&table, "ada"), Resource::Streams);
    let (_bob, _) = exhaust(&account(&table, "bob"), Resource::Streams);
    let (none, exceeded) = exhaust(&account(&table, "cy"), Resource::Streams);
    assert!(none.is_empty() && !exceeded.is_of_principal(), "{exceeded}");
}
