//! The doctor: whether this machine, from here, can measure what a plan asks. What it sends to the target creates and
//! writes nothing; what it offers as load goes to a simulated endpoint of its own. Imports only `load` and `wire`.

mod calibration;
pub mod clock;
pub mod distance;
mod endpoint;
pub mod host;
pub mod need;
mod probe;
mod report;
mod run_queue;
pub mod verdict;

pub use calibration::{Burst, Calibration, Whereabouts, calibrate};
pub use clock::{Bracket, ClockOffset, Dated};
pub use distance::{Distance, Survey};
pub use endpoint::NullEndpoint;
pub use host::{Host, OpenFiles};
pub use need::Need;
pub use probe::Probe;
pub use report::{json, text};
pub use run_queue::waited_nanos;
pub use verdict::{Asked, Examination, Target, Verdict};
