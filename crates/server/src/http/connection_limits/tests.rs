//! Who is evicted at which limit, and who waits.

use futures_util::FutureExt;

use super::*;

fn limiter(total: usize, of_peer: usize, unauthenticated: usize) -> Arc<ConnectionLimiter> {
    let settings = Settings {
        connections: total,
        connections_of_peer: of_peer,
        connections_unauthenticated: unauthenticated,
        ..Settings::default()
    };
    Arc::new(ConnectionLimiter::new(&settings, u64::MAX))
}

fn address(number: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, number])
}

#[test]
fn the_oldest_unauthenticated_connection_is_evicted() {
    // Limits, peers as they come (whether each authenticates), and who is left of them.
    type Case = ((usize, usize, usize), &'static [(u8, bool)], &'static [bool]);
    let cases: [Case; 6] = [
        ((2, 9, 9), &[(1, false), (2, false), (3, false)], &[false, true, true]),
        ((2, 9, 9), &[(1, true), (2, false), (3, false)], &[true, false, true]),
        ((9, 9, 1), &[(1, true), (2, false), (3, true)], &[true, false, true]),
        ((9, 1, 9), &[(1, false), (2, false), (2, false)], &[true, false, true]),
        ((9, 1, 9), &[(1, true), (2, true), (2, false)], &[true, true, false]),
        ((9, 2, 9), &[(1, false), (1, true), (1, false)], &[false, true, true]),
    ];
    for ((total, of_peer, unauthenticated), comers, expected) in cases {
        let limiter = limiter(total, of_peer, unauthenticated);
        let mut open = Vec::new();
        let ada: Arc<str> = "ada".into();
        for (number, authenticates) in comers {
            let mut slot = limiter.acquire(address(*number));
            if *authenticates {
                let authenticated = slot.as_mut().is_some_and(|slot| slot.authenticate(&ada));
                assert!(authenticated, "{comers:?}");
            }
            open.push(slot);
        }
        let mut is_left = |slot: &mut Option<ConnectionSlot>| {
            slot.as_mut().is_some_and(|slot| slot.authenticate(&ada))
        };
        let left: Vec<bool> = open.iter_mut().map(&mut is_left).collect();
        assert_eq!(left, expected, "{comers:?}");
        drop(open);
        let state = limiter.state();
        assert_eq!((state.open, state.peers.len(), state.unauthenticated.len()), (0, 0, 0));
        assert_eq!((state.authenticated.len(), state.principals.len()), (0, 0));
    }
}

#[tokio::test]
async fn idle_connections_of_the_largest_holder_are_evicted() {
    // Connections as they are open (who, whether busy), then which is closed for another one.
    type Case = (&'static [(&'static str, bool)], Option<usize>);
    let cases: [Case; 5] = [
        (&[("ada", false), ("bob", false), ("bob", false)], Some(1)),
        (&[("bob", false), ("ada", false), ("ada", true)], Some(1)),
        (&[("ada", true), ("ada", true), ("bob", false)], Some(2)),
        (&[("ada", true), ("ada", true), ("bob", true)], None),
        (&[("ada", false), ("bob", false), ("eve", false)], Some(0)),
    ];
    for (open, expected) in cases {
        let limiter = limiter(9, 3, 9);
        let mut held = Vec::new();
        for (principal, is_busy) in open {
            let mut slot = limiter.acquire(address(1)).expect("a place");
            limiter.set_task(slot.id(), tokio::spawn(async {}).abort_handle());
            assert!(slot.authenticate(&Arc::from(*principal)));
            slot.set_busy(*is_busy);
            held.push(slot);
        }
        let next = limiter.acquire(address(1));
        assert_eq!(next.is_some(), expected.is_some(), "{open:?}");
        let state = limiter.state();
        let gone = held.iter().position(|slot| !state.authenticated.contains_key(&slot.id));
        drop(state);
        assert_eq!(gone, expected, "{open:?}");
    }
}

#[tokio::test]
async fn a_principal_has_a_share_of_the_connections() {
    let limiter = limiter(8, 8, 8);
    let (ada, bob): (Arc<str>, Arc<str>) = ("ada".into(), "bob".into());
    let mut held = Vec::new();
    for principal in [&ada, &ada, &bob, &ada] {
        let mut slot = limiter.acquire(address(1)).expect("a place");
        limiter.set_task(slot.id(), tokio::spawn(async {}).abort_handle());
        slot.set_busy(principal == &bob);
        assert!(slot.authenticate(principal));
        held.push(slot);
    }
    let state = limiter.state();
    let left: Vec<bool> =
        held.iter().map(|slot| state.authenticated.contains_key(&slot.id)).collect();
    assert_eq!(left, [false, true, true, true], "a quarter of eight is two");
}

#[tokio::test]
async fn a_connection_waits_while_all_are_busy() {
    let limiter = limiter(2, 9, 9);
    let mut first = limiter.acquire(address(1)).unwrap();
    let mut second = limiter.acquire(address(2)).unwrap();
    assert!(limiter.available().now_or_never().is_some(), "one can be cleared");
    for slot in [&mut first, &mut second] {
        limiter.set_task(slot.id(), tokio::spawn(async {}).abort_handle());
        slot.set_busy(true);
        assert!(slot.authenticate(&"ada".into()));
    }
    assert!(limiter.available().now_or_never().is_none(), "none can");
    first.set_busy(false);
    assert!(limiter.available().now_or_never().is_some(), "one is idle");
    first.set_busy(true);
    drop(second);
    assert!(limiter.available().now_or_never().is_some(), "one is gone");
}

#[test]
fn reserved_files_are_no_slots() {
    for (reserve, files, total) in
        [(512, u64::MAX, 1000), (512, 1024, 512), (512, 1300, 788), (512, 100, 50), (0, 4, 8)]
    {
        let settings =
            Settings { connections: 1000, descriptor_reserve: reserve, ..Settings::default() };
        assert_eq!(ConnectionLimiter::new(&settings, files).total, total, "{reserve} of {files}");
    }
}

#[test]
fn who_is_one_peer() {
    for (one, other, same) in [
        ("10.0.0.1", "10.0.0.1", true),
        ("10.0.0.1", "10.0.0.2", false),
        ("10.0.0.1", "::ffff:10.0.0.1", true),
        ("2001:db8:1:2::3", "2001:db8:1:2:ffff::4", true),
        ("2001:db8:1:2::3", "2001:db8:1:3::3", false),
        ("::1", "::2", false),
    ] {
        let peers = [one, other].map(|it| peer(it.parse().unwrap()));
        assert_eq!(peers[0] == peers[1], same, "{one} {other}");
    }
}
