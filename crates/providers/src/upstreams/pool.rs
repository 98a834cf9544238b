//! Connections of one server for single users or sessions, made when they are first needed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gantry_client::{Client, Settings, Start, Target};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// The connections by whose they are.
#[derive(Debug)]
pub(super) struct Pool {
    target: Target,
    settings: Settings,
    limit: usize,
    clients: Mutex<HashMap<String, Lent>>,
    /// Where the connections live: longer than the threads that serve those who need them.
    home: Handle,
}

#[derive(Debug)]
struct Lent {
    client: Client,
    used: Instant,
}

impl Pool {
    /// No connections yet. They will live on the runtime that this is called on.
    pub(super) fn new(target: Target, settings: Settings, limit: usize) -> Self {
        // It is made because it is needed; once lost it is made again when it is needed again.
        let settings = Settings { start: Start::Lazy, ..settings };
        let (limit, home) = (limit.max(1), Handle::current());
        Self { target, settings, limit, clients: Mutex::default(), home }
    }

    /// The connection of that name; none if there are too many that work on something.
    pub(super) fn get(&self, name: &str) -> Option<Client> {
        let now = Instant::now();
        let mut clients = self.lock();
        if let Some(lent) = clients.get_mut(name) {
            lent.used = now;
            return Some(lent.client.clone());
        }
        clients.retain(|_, lent| lent.is_wanted(now));
        if clients.len() >= self.limit {
            let resting = clients.iter().filter(|(_, lent)| lent.client.health().in_flight == 0);
            let oldest = resting.min_by_key(|(_, lent)| lent.used).map(|(name, _)| name.clone())?;
            clients.remove(&oldest);
        }
        let _at_home = self.home.enter();
        // What such a connection says beside its calls, the shared one says too.
        let client = Client::new(self.target.clone(), self.settings.clone(), mpsc::channel(1).0);
        clients.insert(name.to_owned(), Lent { client: client.clone(), used: now });
        Some(client)
    }

    /// Ends connections that nobody has used for long.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        self.lock().retain(|_, lent| lent.is_wanted(now));
    }

    /// All connections there are.
    pub(super) fn all(&self) -> Vec<Client> {
        self.lock().values().map(|lent| lent.client.clone()).collect()
    }

    /// Forgets all connections, and gives them to whoever ends them.
    pub(super) fn empty(&self) -> Vec<Client> {
        self.lock().drain().map(|(_, lent)| lent.client).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Lent>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent {
    fn is_wanted(&self, now: Instant) -> bool {
        now.duration_since(self.used) < IDLE || self.client.health().in_flight > 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::upstream;
    use super::*;

    fn names(pool: &Pool) -> Vec<String> {
        let mut names: Vec<_> = pool.lock().keys().cloned().collect();
        names.sort();
        names
    }

    #[tokio::test(start_paused = true)]
    async fn connections_are_few_and_those_that_rest_give_way() {
        let upstream = upstream("s");
        let pool = Pool::new(upstream.target.unwrap(), upstream.client, 2);
        for (name, expected) in [("a", "a"), ("b", "a b"), ("a", "a b"), ("c", "a c")] {
            assert!(pool.get(name).is_some());
            assert_eq!(names(&pool).join(" "), expected);
            tokio::time::advance(Duration::from_secs(60)).await;
        }
        tokio::time::advance(IDLE - Duration::from_secs(90)).await;
        pool.sweep();
        assert_eq!(names(&pool), ["c"]);
        assert_eq!((pool.all().len(), pool.empty().len(), pool.all().len()), (1, 1, 0));
    }
}
