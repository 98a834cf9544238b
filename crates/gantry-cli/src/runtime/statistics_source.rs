//! Between the counters of the gateway and the store: what is kept, and what is read again.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gantry::{Histogram, Server, ToolStatistics};
use gantry_store::{Settings, Source, Store, StoreError, Writer};

/// The gauge that says whether statistics reach the store.
const GAUGE: (&str, &str) =
    ("gantry_store_ok", "Whether statistics can be written to the store: 1 or 0.");

/// Starts to keep what the server counts. It must be stopped for the last of it to be written.
pub(crate) fn keep(server: Server, address: String) -> Writer {
    let statistics_source = StatisticsSource(server);
    statistics_source.written(true);
    Writer::start(address, Settings::default(), Arc::new(statistics_source))
}

/// What is known of every tool, over all starts.
pub(crate) async fn read(address: &str) -> Result<Vec<ToolStatistics>, StoreError> {
    let store = Store::open(address, &Settings::default()).await?;
    let kept = store.statistics().await;
    store.close().await;
    Ok(kept?.into_iter().map(from_kept).collect())
}

/// The counters of a server.
struct StatisticsSource(Server);

impl Source for StatisticsSource {
    fn statistics(&self) -> Vec<gantry_store::ToolStatistics> {
        self.0.statistics().into_iter().map(to_kept).collect()
    }

    fn written(&self, written: bool) {
        self.0.set_gauge(GAUGE.0, GAUGE.1, u64::from(written));
    }
}

fn to_kept(tool: ToolStatistics) -> gantry_store::ToolStatistics {
    gantry_store::ToolStatistics {
        tool: tool.name,
        calls: tool.calls,
        micros: whole(tool.latency.sum().as_micros()),
        errors: tool.errors,
        latency: tool.latency.encode().into_iter().collect(),
        standby_hits: tool.standby_hits,
        standby_misses: tool.standby_misses,
        last_call: tool.last_call.map_or(0, millis),
    }
}

fn from_kept(kept: gantry_store::ToolStatistics) -> ToolStatistics {
    let at = |millis| UNIX_EPOCH.checked_add(Duration::from_millis(millis));
    ToolStatistics {
        name: kept.tool,
        calls: kept.calls,
        errors: kept.errors,
        latency: Histogram::decode(kept.latency, Duration::from_micros(kept.micros)),
        standby_hits: kept.standby_hits,
        standby_misses: kept.standby_misses,
        last_call: Some(kept.last_call).filter(|millis| *millis > 0).and_then(at),
    }
}

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    whole(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis())
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_counted() {
        let mut latency = Histogram::default();
        for millis in [1, 2, 400, 90_000] {
            latency.record(Duration::from_millis(millis));
        }
        let tool = ToolStatistics {
            name: "a".to_owned(),
            calls: 4,
            errors: [("TimeoutError".to_owned(), 1)].into(),
            latency,
            standby_hits: 3,
            standby_misses: 1,
            last_call: UNIX_EPOCH.checked_add(Duration::from_millis(1_790_000_000_123)),
        };
        assert_eq!(from_kept(to_kept(tool.clone())), tool);
        let never = ToolStatistics { last_call: None, ..tool };
        assert_eq!(from_kept(to_kept(never.clone())), never);
    }
}
