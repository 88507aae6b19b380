//! What this machine has: cores, what else runs on them, and files that may be open.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors kept for everything but the load's connections.
const DESCRIPTORS_RESERVED: u64 = 64;
/// Nanoseconds in a tick of `/proc/stat`, by which Linux counts CPU time in files.
const CLOCK_TICK_NANOS: u64 = 10_000_000;

/// How many files this process may have open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// The limit in force; `None` is unlimited.
    pub soft: Option<u64>,
    /// As far as the process may raise it; `None` is unlimited.
    pub hard: Option<u64>,
}

impl OpenFiles {
    /// Raises the limit in force as far as it goes, and says what the limits are then.
    pub fn raised() -> Self {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let soft = match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
            Ok(()) => maximum,
            Err(_) => current,
        };
        Self { soft, hard: maximum }
    }

    /// Connections that fit. With the simulated endpoint in the same process, each takes two descriptors.
    pub fn connections(&self, simulated_here: bool) -> Option<u32> {
        let each = if simulated_here { 2 } else { 1 };
        self.soft.map(|limit| u32::try_from(limit.saturating_sub(DESCRIPTORS_RESERVED) / each).unwrap_or(u32::MAX))
    }
}

/// What this machine has. What cannot be read is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Cores that this process may run on.
    pub cores: u32,
    /// CPU time that its control group may take, in cores; `None` without a quota.
    pub quota_cores: Option<f64>,
    /// Load average of the last minute.
    pub load_average: Option<f64>,
    /// Files that may be open.
    pub open_files: OpenFiles,
}

impl Host {
    /// Looks. Takes well under a millisecond.
    pub fn look() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
            quota_cores: quota(Path::new("/sys/fs/cgroup"), &read("/proc/self/cgroup")),
            load_average: read("/proc/loadavg").split(' ').next().and_then(|first| first.parse().ok()),
            open_files: OpenFiles::raised(),
        }
    }

    /// CPU time there is, in cores.
    pub fn usable_cores(&self) -> f64 {
        let cores = f64::from(self.cores);
        self.quota_cores.map_or(cores, |quota| quota.min(cores))
    }
}

/// CPU time of the whole machine so far, in ticks: taken by the hypervisor for others, and all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MachineTime {
    stolen: u64,
    all: u64,
}

impl MachineTime {
    pub(super) fn now() -> Self {
        Self::parse(&read("/proc/stat"))
    }

    fn parse(stat: &str) -> Self {
        let first = stat.lines().next().unwrap_or_default();
        // user nice system idle iowait irq softirq steal; guest time is part of user.
        let times: Vec<u64> = first.split_whitespace().skip(1).take(8).filter_map(|time| time.parse().ok()).collect();
        Self { stolen: times.get(7).copied().unwrap_or(0), all: times.iter().sum() }
    }

    /// Share of the machine's time since `earlier` that the hypervisor gave to others, 0 to 1.
    pub(super) fn stolen_since(self, earlier: Self) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|all| *all > 0)?;
        Some(self.stolen.saturating_sub(earlier.stolen) as f64 / all as f64)
    }
}

/// CPU time that another process has used so far, nanoseconds, to a hundredth of a second.
pub(super) fn process_cpu_nanos(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let after = stat.rsplit_once(')')?.1;
    let mut fields = after.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) * CLOCK_TICK_NANOS)
}

/// The CPU quota of a version-2 control group or of any it lies in, in cores.
fn quota(root: &Path, membership: &str) -> Option<f64> {
    let group = membership.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mut path = root.join(group.trim_start_matches('/'));
    let mut least: Option<f64> = None;
    loop {
        if let Some(cores) = fs::read_to_string(path.join("cpu.max")).ok().as_deref().and_then(cores_of) {
            least = Some(least.map_or(cores, |least| least.min(cores)));
        }
        if path == root || !path.pop() || !path.starts_with(root) {
            return least;
        }
    }
}

/// `50000 100000` is half a core; `max 100000` is no quota.
fn cores_of(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    Some(quota / period).filter(|cores| cores.is_finite() && *cores > 0.0)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_quota_of_a_control_group_and_those_around_it_counts() {
        let root = tempfile::tempdir().expect("a directory");
        let inner = root.path().join("slice").join("job");
        fs::create_dir_all(&inner).expect("directories");
        let put = |path: &Path, text: &str| fs::write(path.join("cpu.max"), text).expect("written");
        let found = || quota(root.path(), "0::/slice/job\n");
        assert_eq!(found(), None);
        put(&inner, "max 100000\n");
        assert_eq!(found(), None);
        put(&root.path().join("slice"), "150000 100000\n");
        assert_eq!(found(), Some(1.5));
        put(&inner, "50000 100000\n");
        assert_eq!(found(), Some(0.5));
        assert_eq!(quota(root.path(), "1:cpu:/old\n"), None);
        assert_eq!(quota(root.path(), "0::/../..\n"), None);
    }

    #[test]
    fn time_stolen_is_a_share_of_all_time() {
        let before = MachineTime::parse("cpu  100 0 100 700 0 0 0 100 0 0\n");
        let after = MachineTime::parse("cpu  150 0 150 750 0 0 0 150 99 0\n");
        assert_eq!(after.stolen_since(before), Some(0.25));
        assert_eq!(before.stolen_since(before), None);
    }

    #[test]
    fn this_machine_has_cores_and_may_open_files() {
        let host = Host::look();
        assert!(host.cores >= 1 && host.usable_cores() > 0.0);
        assert!(host.open_files.connections(true).is_none_or(|most| most > 0));
        assert!(process_cpu_nanos(std::process::id()).is_some());
    }

    #[test]
    fn an_endpoint_in_the_same_process_halves_the_connections_that_fit() {
        let files = OpenFiles { soft: Some(1_064), hard: None };
        assert_eq!((files.connections(false), files.connections(true)), (Some(1_000), Some(500)));
        assert_eq!(OpenFiles { soft: Some(10), hard: None }.connections(false), Some(0));
        assert_eq!(OpenFiles { soft: None, hard: None }.connections(false), None);
    }
}
