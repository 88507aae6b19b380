//! Profiles as TOML.
//!
//! ```toml
//! about = "what it is"
//! unlimited = false               # true accepts everything
//!
//! [partitions]
//! count = 4
//! shares = [1, 1, 1, 5]           # optional: relative shares of the keys
//! write_per_s = 1000              # one figure, or a list with one for each partition
//! read_per_s = 3000
//! bucket_s = 1.0                  # seconds of unused capacity that a partition keeps
//! splits_after_s = [540, 1560]    # over-demand time of each split
//!
//! [table]
//! activation_s = 7.4              # CREATING
//! deletion_s = 1.0                # DELETING
//! updating_s = 1.0                # UPDATING
//! account_write_per_s = 40000     # the account's quota for one table
//! account_read_per_s = 40000
//! provisioned_write_per_s = 4000  # provisioned capacity, whatever the billing mode
//! provisioned_read_per_s = 12000
//! provisioned_bucket_s = 300      # seconds of it that are kept when unused
//! provisioned_start_s = 1         # seconds of it that a new table has
//!
//! [latency_ms]
//! write = { p50 = 4.5, p99 = 9.0 }
//! read = { p50 = 3.0, p99 = 6.5 }
//! refusal = { p50 = 3.0, p99 = 6.5 }
//!
//! [[faults]]                      # times count from ACTIVE
//! from_s = 10
//! to_s = 12
//! kind = "delay"                  # delay, stall, drop, close, reset, 500, garbage
//! delay_ms = 200                  # of a delay
//! share = 0.1                     # of the requests; all unless said
//! ```

use std::time::Duration;

use serde::Deserialize;

use super::Profile;
use crate::embedded::fault::{Fault, Trouble};
use crate::embedded::latency::Spread;
use crate::embedded::model::{Shape, Slice, Throughput};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    about: String,
    #[serde(default)]
    unlimited: bool,
    #[serde(default)]
    partitions: PartitionsTable,
    #[serde(default)]
    table: TableTable,
    #[serde(default)]
    latency_ms: LatencyTable,
    #[serde(default)]
    faults: Vec<FaultTable>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartitionsTable {
    count: Option<usize>,
    shares: Option<Vec<f64>>,
    write_per_s: Option<Each>,
    read_per_s: Option<Each>,
    bucket_s: Option<f64>,
    splits_after_s: Option<Vec<f64>>,
}

/// One figure for all partitions, or one for each.
#[derive(Deserialize)]
#[serde(untagged)]
enum Each {
    All(u32),
    Of(Vec<u32>),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the names are those in the file, each with its unit")]
struct TableTable {
    activation_s: Option<f64>,
    deletion_s: Option<f64>,
    updating_s: Option<f64>,
    account_write_per_s: Option<u32>,
    account_read_per_s: Option<u32>,
    provisioned_write_per_s: Option<u32>,
    provisioned_read_per_s: Option<u32>,
    provisioned_bucket_s: Option<f64>,
    provisioned_start_s: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LatencyTable {
    write: Option<SpreadTable>,
    read: Option<SpreadTable>,
    refusal: Option<SpreadTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpreadTable {
    p50: f64,
    p99: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultTable {
    from_s: f64,
    to_s: f64,
    kind: String,
    delay_ms: Option<f64>,
    share: Option<f64>,
}

/// A partition serves at most this many units a second, so that a bucket always fits its integer.
const MOST_PER_S: u32 = 10_000_000;
const MOST_PARTITIONS: usize = 10_000;

impl File {
    /// The profile that the file describes, or what is wrong with it.
    pub(super) fn into_profile(self, name: &str) -> Result<Profile, String> {
        let mut profile = Profile { name: name.to_owned(), about: self.about, ..Profile::default() };
        let shape = &mut profile.shape;
        shape.unlimited = self.unlimited;
        self.partitions.apply(shape)?;
        let table = self.table;
        set_seconds(&mut profile.activation, table.activation_s, "table.activation_s")?;
        set_seconds(&mut profile.deletion, table.deletion_s, "table.deletion_s")?;
        set_seconds(&mut profile.updating, table.updating_s, "table.updating_s")?;
        set_seconds(&mut shape.provisioned_hold, table.provisioned_bucket_s, "table.provisioned_bucket_s")?;
        set_seconds(&mut shape.provisioned_start, table.provisioned_start_s, "table.provisioned_start_s")?;
        shape.account.write = rate(table.account_write_per_s.unwrap_or(shape.account.write), "table.account_write_per_s")?;
        shape.account.read = rate(table.account_read_per_s.unwrap_or(shape.account.read), "table.account_read_per_s")?;
        profile.provisioned = match (table.provisioned_write_per_s, table.provisioned_read_per_s) {
            (None, None) => None,
            (Some(write), Some(read)) => {
                Some(Throughput { write: rate(write, "table.provisioned_write_per_s")?, read: rate(read, "table.provisioned_read_per_s")? })
            }
            _ => return Err("table.provisioned_write_per_s and table.provisioned_read_per_s go together; give both or neither".to_owned()),
        };
        set_spread(&mut profile.latencies.write, self.latency_ms.write.as_ref(), "latency_ms.write")?;
        set_spread(&mut profile.latencies.read, self.latency_ms.read.as_ref(), "latency_ms.read")?;
        set_spread(&mut profile.latencies.refusal, self.latency_ms.refusal.as_ref(), "latency_ms.refusal")?;
        profile.faults = self.faults.iter().enumerate().map(|(place, fault)| fault.read(place + 1)).collect::<Result<_, _>>()?;
        Ok(profile)
    }
}

impl PartitionsTable {
    fn apply(self, shape: &mut Shape) -> Result<(), String> {
        let given = [
            self.count,
            self.shares.as_ref().map(Vec::len),
            self.write_per_s.as_ref().and_then(Each::len),
            self.read_per_s.as_ref().and_then(Each::len),
        ];
        let count = given.iter().flatten().copied().next().unwrap_or(shape.slices.len());
        if given.iter().flatten().any(|other| *other != count) {
            return Err("partitions: count, shares, write_per_s and read_per_s speak of different numbers of partitions; give each list one figure per partition".to_owned());
        }
        if !(1..=MOST_PARTITIONS).contains(&count) {
            return Err(format!("partitions: a table has 1 to {MOST_PARTITIONS} partitions, and {count} is not; give another count"));
        }
        let weights = self.shares.unwrap_or_else(|| vec![1.0; count]);
        let total: f64 = weights.iter().sum();
        if weights.iter().any(|weight| !weight.is_finite() || *weight < total * 1e-6 || *weight <= 0.0) {
            return Err("partitions.shares: each share must be greater than zero, at least a millionth of all".to_owned());
        }
        for (kind_rates, each, name) in [
            (&mut shape.normal.write, &self.write_per_s, "partitions.write_per_s"),
            (&mut shape.normal.read, &self.read_per_s, "partitions.read_per_s"),
        ] {
            match each {
                Some(Each::All(per_s)) => *kind_rates = rate(*per_s, name)?,
                Some(Each::Of(list)) => list.iter().try_for_each(|per_s| rate(*per_s, name).map(|_| ()))?,
                None => {}
            }
        }
        let normal = shape.normal;
        let slice = |(place, weight): (usize, &f64)| Slice {
            weight: *weight,
            rates: Throughput {
                write: Each::at(self.write_per_s.as_ref(), place, normal.write),
                read: Each::at(self.read_per_s.as_ref(), place, normal.read),
            },
        };
        shape.slices = weights.iter().enumerate().map(slice).collect();
        set_seconds(&mut shape.hold, self.bucket_s, "partitions.bucket_s")?;
        if let Some(splits) = self.splits_after_s {
            shape.splits = splits.into_iter().map(|at| seconds(at, "partitions.splits_after_s")).collect::<Result<_, _>>()?;
            if !shape.splits.is_sorted() {
                return Err("partitions.splits_after_s: the times must ascend; sort them".to_owned());
            }
        }
        Ok(())
    }
}

impl Each {
    fn len(&self) -> Option<usize> {
        match self {
            Self::All(_) => None,
            Self::Of(list) => Some(list.len()),
        }
    }

    fn at(each: Option<&Self>, place: usize, normal: u32) -> u32 {
        match each {
            Some(Self::Of(list)) => list.get(place).copied().unwrap_or(normal),
            _ => normal,
        }
    }
}

impl FaultTable {
    fn read(&self, number: usize) -> Result<Fault, String> {
        let name = format!("faults, number {number}");
        let trouble = match (self.kind.as_str(), self.delay_ms) {
            ("delay", Some(ms)) => Trouble::Delay(seconds(ms / 1e3, &format!("{name}: delay_ms"))?),
            ("delay", None) => return Err(format!("{name}: a delay needs delay_ms; add delay_ms = 100, say")),
            (_, Some(_)) => return Err(format!("{name}: delay_ms belongs to kind = \"delay\" only; remove it")),
            ("stall", None) => Trouble::Stall,
            ("drop", None) => Trouble::Drop,
            ("close", None) => Trouble::Close,
            ("reset", None) => Trouble::Reset,
            ("500", None) => Trouble::Error,
            ("garbage", None) => Trouble::Garbage,
            (other, None) => {
                return Err(format!("{name}: `{other}` is not a kind of fault; write delay, stall, drop, close, reset, 500 or garbage"));
            }
        };
        let share = self.share.unwrap_or(1.0);
        let (from, to) = (seconds(self.from_s, &name)?, seconds(self.to_s, &name)?);
        if !(0.0..=1.0).contains(&share) {
            return Err(format!("{name}: share is a part of the requests, from 0 to 1, and {share} is not"));
        }
        if from >= to {
            return Err(format!("{name}: it ends at {} s, before it begins at {} s; swap from_s and to_s", self.to_s, self.from_s));
        }
        Ok(Fault { from, to, trouble, share })
    }
}

fn rate(per_s: u32, name: &str) -> Result<u32, String> {
    if (1..=MOST_PER_S).contains(&per_s) {
        Ok(per_s)
    } else {
        Err(format!("{name}: {per_s} is not within 1 to {MOST_PER_S} units per second"))
    }
}

fn seconds(value: f64, name: &str) -> Result<Duration, String> {
    if (0.0..=1e6).contains(&value) {
        Ok(Duration::from_secs_f64(value))
    } else {
        Err(format!("{name}: {value} is not a time from 0 to 1000000 seconds"))
    }
}

fn set_seconds(target: &mut Duration, value: Option<f64>, name: &str) -> Result<(), String> {
    if let Some(value) = value {
        *target = seconds(value, name)?;
    }
    Ok(())
}

fn set_spread(target: &mut Spread, value: Option<&SpreadTable>, name: &str) -> Result<(), String> {
    if let Some(&SpreadTable { p50, p99 }) = value {
        if p99 < p50 {
            return Err(format!("{name}: the p99, {p99}, is below the p50, {p50}; the p99 is at least the p50"));
        }
        *target = Spread::new(seconds(p50 / 1e3, name)?, seconds(p99 / 1e3, name)?);
    }
    Ok(())
}
