//! The endpoint's state, and the way of a request through it. No I/O and no waiting here: the connection does both.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::answer::{Answer, Problem};
use super::fault::Trouble;
use super::latency::Punctuality;
use super::model::Kind;
use super::profile::Profile;
use super::random::Random;
use super::store::{Store, TableId};
use super::table::{Status, Table, Timing};
use super::{control, data};

/// Ledgers of tables that are gone are kept for this many tables.
const MOST_DEPARTED: usize = 1_000;
/// Tables there can be at once.
pub(super) const MOST_TABLES: usize = 2_500;

/// How long the simulated service takes over an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As long as an accepted request of this kind.
    Accepted(Kind),
    /// As long as a refusal.
    Refused,
    /// No time: the control plane.
    AtOnce,
}

/// What becomes of a request.
pub(super) struct Reply {
    pub(super) outcome: Outcome,
    /// How long the answer takes.
    pub(super) wait: Duration,
    /// Where it is noted how late the answer was, for the data plane.
    pub(super) punctuality: Option<Rc<Punctuality>>,
}

/// An answer, or what a fault does instead.
pub(super) enum Outcome {
    Answer(Answer),
    Trouble(Trouble),
}

/// How a data-plane operation ended.
pub(super) enum Ending {
    Answer(Answer, Pace),
    Problem(Problem),
    Trouble(Trouble),
}

impl From<Problem> for Ending {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) profile: Profile,
    pub(super) region: String,
    pub(super) timing: Timing,
    pub(super) random: Random,
    pub(super) tables: HashMap<String, Table>,
    pub(super) store: Store,
    departed: VecDeque<(String, Json)>,
    tables_made: u32,
    /// What the request being served has met: its table's punctuality, and the delay of a fault.
    met: Option<(Rc<Punctuality>, Duration)>,
}

impl Endpoint {
    /// An endpoint without tables. `time_scale` is greater than zero and finite.
    pub(super) fn new(mut profile: Profile, region: String, seed: u64, time_scale: f64) -> Self {
        let faster = |span: Duration| Duration::try_from_secs_f64(span.as_secs_f64() / time_scale).unwrap_or(Duration::MAX);
        let timing =
            Timing { activation: faster(profile.activation), deletion: faster(profile.deletion), updating: faster(profile.updating) };
        profile.shape = profile.shape.sped_up(time_scale);
        Self {
            profile,
            region,
            timing,
            random: Random::new(seed),
            tables: HashMap::new(),
            store: Store::default(),
            departed: VecDeque::new(),
            tables_made: 0,
            met: None,
        }
    }

    /// Serves one operation. `target` is the `x-amz-target` header.
    pub(super) fn serve(&mut self, target: Option<&[u8]>, body: &[u8], now: Instant) -> Reply {
        self.met = None;
        let ending = self.dispatch(target, body, now);
        let (punctuality, delay) = self.met.take().unzip();
        let (outcome, wait) = match ending {
            Ending::Answer(answer, pace) => (Outcome::Answer(answer), self.sample(pace)),
            // A data-plane request that fails takes as long as a refusal; what never reached a table is answered at once.
            Ending::Problem(problem) if punctuality.is_some() => (Outcome::Answer(problem.answer()), self.sample(Pace::Refused)),
            Ending::Problem(problem) => (Outcome::Answer(problem.answer()), Duration::ZERO),
            Ending::Trouble(Trouble::Error) => (
                Outcome::Answer(Problem::internal("The request processing has failed because of an unknown error.").answer()),
                self.sample(Pace::Refused),
            ),
            Ending::Trouble(trouble) => (Outcome::Trouble(trouble), Duration::ZERO),
        };
        Reply { outcome, wait: wait + delay.unwrap_or_default(), punctuality }
    }

    fn dispatch(&mut self, target: Option<&[u8]>, body: &[u8], now: Instant) -> Ending {
        let Some(operation) = target.and_then(|target| target.strip_prefix(b"DynamoDB_20120810.")) else {
            return Problem::unknown_operation("The x-amz-target header is missing or does not name an operation of DynamoDB_20120810")
                .into();
        };
        let Ok(body) = std::str::from_utf8(body) else {
            return Problem::serialization("the body is not UTF-8").into();
        };
        let result = match operation {
            b"PutItem" => return settle(data::put_item(self, body, now)),
            b"GetItem" => return settle(data::get_item(self, body, now)),
            b"UpdateItem" => return settle(data::update_item(self, body, now)),
            b"DeleteItem" => return settle(data::delete_item(self, body, now)),
            b"Query" => return settle(data::query(self, body, now)),
            b"BatchWriteItem" => return settle(data::batch_write_item(self, body, now)),
            b"BatchGetItem" => return settle(data::batch_get_item(self, body, now)),
            b"CreateTable" => control::create_table(self, body, now),
            b"DescribeTable" => control::describe_table(self, body, now),
            b"UpdateTable" => control::update_table(self, body, now),
            b"DeleteTable" => control::delete_table(self, body, now),
            b"ListTables" => control::list_tables(self, body, now),
            b"DescribeLimits" => Ok(control::describe_limits(self)),
            b"TagResource" => control::tag_resource(self, body, now),
            b"UntagResource" => control::untag_resource(self, body, now),
            b"ListTagsOfResource" => control::list_tags(self, body, now),
            other => Err(Problem::unknown_operation(format!(
                "The embedded endpoint does not support the operation {}",
                String::from_utf8_lossy(other)
            ))),
        };
        settle(result.map(|answer| (answer, Pace::AtOnce)).map_err(Ending::Problem))
    }

    /// Opens a table for the data plane, and lets the faults of its profile befall the request, once.
    pub(super) fn open(&mut self, name: &str, now: Instant) -> Result<(&mut Table, &mut Store), Ending> {
        let table = self.tables.get_mut(name).filter(|table| matches!(table.status(now), Status::Active | Status::Updating));
        let Some(table) = table else { return Err(Problem::no_such_table().into()) };
        if self.met.is_none() {
            let (trouble, delay) = match self.profile.faults.as_slice() {
                [] => (None, Duration::ZERO),
                faults => table.trouble(faults, &mut self.random, now),
            };
            self.met = Some((Rc::clone(&table.punctuality), delay));
            if let Some(trouble) = trouble {
                return Err(Ending::Trouble(trouble));
            }
        }
        Ok((table, &mut self.store))
    }

    /// A table for the control plane.
    pub(super) fn find(&mut self, name: &str, now: Instant) -> Option<&mut Table> {
        self.bury(now);
        self.tables.get_mut(name)
    }

    /// Takes leave of the tables whose deletion is over; their ledgers stay.
    pub(super) fn bury(&mut self, now: Instant) {
        let gone: Vec<String> =
            self.tables.values().filter(|table| table.status(now) == Status::Gone).map(|table| table.name.clone()).collect();
        for name in gone {
            if let Some(table) = self.tables.remove(&name) {
                self.store.drop_table(table.id);
                self.departed.push_back((name, table.ledger()));
            }
        }
        while self.departed.len() > MOST_DEPARTED {
            self.departed.pop_front();
        }
    }

    /// A number for a new table.
    pub(super) fn next_table_id(&mut self) -> TableId {
        self.tables_made += 1;
        TableId(self.tables_made)
    }

    /// The ledger of a table that is there or was.
    pub(super) fn ledger(&self, name: &str) -> Option<Json> {
        let departed = || self.departed.iter().rev().find(|(other, _)| other == name).map(|(_, ledger)| ledger.clone());
        self.tables.get(name).map(Table::ledger).or_else(departed)
    }

    fn sample(&mut self, pace: Pace) -> Duration {
        let latencies = &self.profile.latencies;
        let spread = match pace {
            Pace::Accepted(Kind::Write) => latencies.write,
            Pace::Accepted(Kind::Read) => latencies.read,
            Pace::Refused => latencies.refusal,
            Pace::AtOnce => return Duration::ZERO,
        };
        spread.sample(&mut self.random)
    }
}

fn settle(result: Result<(Answer, Pace), Ending>) -> Ending {
    match result {
        Ok((answer, pace)) => Ending::Answer(answer, pace),
        Err(ending) => ending,
    }
}
