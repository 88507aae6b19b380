//! The HdrHistogram interval log: the full distributions of every window, as the standard viewers read them.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriter, IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use super::clean::clean_ascii;
use super::document::{Document, Histograms, Window};
use super::finite::Finite;
use super::sheet;

/// Histograms hold microseconds; the log's column of largest values is that over this, so in milliseconds, as is usual.
const MICROS_PER_MAX: f64 = 1_000.0;

/// An interval log with one interval per window, outcome and latency. Interval times are seconds from the log's base time,
/// which is the start of the session.
///
/// # Errors
/// A sentence, when a distribution of the document is none, or the start of the session is no time.
pub fn hlog(document: &Document) -> Result<String, String> {
    let start: jiff::Timestamp =
        document.session.started_at.parse().map_err(|_| {
            format!("the session's start `{}` is no RFC 3339 time, and an interval log needs one", document.session.started_at)
        })?;
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut head = IntervalLogWriterBuilder::new();
    head.add_comment("[Histogram log format version 1.3]");
    if document.target.simulated {
        head.add_comment(sheet::SIMULATED);
    }
    head.add_comment(&clean_ascii(&format!(
        "throttlescope {} session {}, {}",
        document.tool.version,
        document.session.id,
        sheet::heading(document)
    )));
    head.add_comment("Histograms hold microseconds. The third column of an interval, its largest value, is in milliseconds.");
    head.add_comment("Tags: outcome and latency; service is from sending to the answer, response from the instant the request was due.");
    let start = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(start.as_millisecond()).unwrap_or(0));
    head.with_start_time(start).with_base_time(start).with_max_value_divisor(MICROS_PER_MAX);
    let mut writer = head.begin_log_with(&mut log, &mut serializer).map_err(|e| e.to_string())?;
    for window in &document.windows {
        intervals(&mut writer, window)?;
    }
    String::from_utf8(log).map_err(|e| e.to_string())
}

type Writer<'a, 'b> = IntervalLogWriter<'a, 'b, Vec<u8>, V2DeflateSerializer>;

fn intervals(writer: &mut Writer<'_, '_>, window: &Window) -> Result<(), String> {
    let number = u64::from(window.index) + 1;
    let about = format!("window {number}: {}, {}, offered {}/s", window.label, window.op, sheet::planned(window));
    writer.write_comment(&clean_ascii(&about)).map_err(|e| e.to_string())?;
    for (tag, text) in tagged(&window.histograms_v2_base64) {
        let Some(text) = text.as_deref() else { continue };
        let histogram = read(text).map_err(|why| format!("the distribution {tag} of window {number} cannot be read: {why}"))?;
        writer
            .write_histogram(&histogram, span(window.start_s), span(window.duration_s), Tag::new(tag))
            .map_err(|e| format!("the distribution {tag} of window {number} cannot be written: {e}"))?;
    }
    Ok(())
}

fn tagged(full: &Histograms) -> [(&'static str, &Option<String>); 6] {
    [
        ("accepted-service", &full.service_accepted),
        ("accepted-response", &full.response_accepted),
        ("throttled-service", &full.service_throttled),
        ("throttled-response", &full.response_throttled),
        ("other-service", &full.service_other),
        ("other-response", &full.response_other),
    ]
}

fn read(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|e| e.to_string())?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| e.to_string())
}

/// Seconds as a span; none where there is no such span.
fn span(s: Finite) -> Duration {
    s.get().and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or_default()
}
