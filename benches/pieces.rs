//! The inner pieces of the instrument, one at a time.
//!
//! ```text
//! cargo bench --bench pieces
//! ```
#![allow(clippy::expect_used, reason = "an endpoint that is written here")]

use std::time::{Duration, UNIX_EPOCH};

use divan::{Bencher, black_box};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use throttlescope::load::pacer::Pacer;
use throttlescope::load::recorder::{Finished, Recorder};
use throttlescope::load::tick::RunnerId;
use throttlescope::load::{
    Bucket, Counts, Intent, Key, Keys, KindId, Latency, Offset, Op, Outcome, Part, Rate, Segment, SegmentLoad, Setpoint, TICK, Units,
    Usage, WindowId, WindowSpec, Workload,
};
use throttlescope::report::{Entry, Phase, Recorder as Session};
use throttlescope::tui::app::App;
use throttlescope::tui::glyphs::Glyphs;
use throttlescope::tui::theme::Theme;
use throttlescope::tui::view::{self, Look};
use throttlescope::tui::{GlyphChoice, ThemeChoice};
use throttlescope::wire::{Endpoint, Identities, Identity, WireTarget, classify};

const ACCEPTED: &[u8] = br#"{"ConsumedCapacity":{"TableName":"throttlescope-ts-0a1b2c3d","CapacityUnits":1.0}}"#;
const THROTTLED: &[u8] = br#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly.","throttlingReasons":[{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"arn:aws:dynamodb:us-east-1:123456789012:table/throttlescope-ts-0a1b2c3d"}]}"#;

fn main() {
    divan::main();
}

/// Wherever a single run is too short for the timer, this many are timed together.
const TOGETHER: u32 = 1_000;

fn target() -> WireTarget {
    let endpoint = Endpoint::parse("http://127.0.0.1:8000", "us-east-1").expect("an endpoint");
    let identities = Identities::fixed(Identity::dummy());
    WireTarget::new(endpoint, identities, "throttlescope-ts-0a1b2c3d", &Workload::new(1_000, Keys::Uniform, 1, false, 1_000))
}

#[divan::bench(sample_size = TOGETHER)]
fn render_and_sign_a_write(bencher: Bencher<'_, '_>) {
    let (target, now, mut request, mut key) = (target(), UNIX_EPOCH + Duration::from_secs(1_800_000_000), Vec::new(), 0);
    bencher.bench_local(|| {
        key += 1;
        target.render(Op::Write, Key(black_box(key)), now, &mut request).is_ok()
    });
}

/// The first request of a second: what is the same for all of them is rendered and hashed as well.
#[divan::bench(sample_size = TOGETHER)]
fn render_and_sign_the_first_write_of_a_second(bencher: Bencher<'_, '_>) {
    let (target, mut now, mut request) = (target(), UNIX_EPOCH + Duration::from_secs(1_800_000_000), Vec::new());
    bencher.bench_local(|| {
        now += Duration::from_secs(1);
        target.render(Op::Write, Key(1), now, &mut request).is_ok()
    });
}

#[divan::bench(sample_size = TOGETHER)]
fn classify_an_accepted_answer() -> Outcome {
    classify(black_box(200), None, black_box(ACCEPTED))
}

#[divan::bench(sample_size = TOGETHER)]
fn classify_a_throttle() -> Outcome {
    classify(black_box(400), None, black_box(THROTTLED))
}

fn load() -> SegmentLoad {
    SegmentLoad::steady(WindowId(0), Rate::per_second(30_000), Op::Write)
}

#[divan::bench(sample_size = TOGETHER)]
fn pacer_step(bencher: Bencher<'_, '_>) {
    let mut pacer = Pacer::new(0, 1, None);
    pacer.apply(Segment { start: Offset::ZERO, load: Some(load()) });
    bencher.bench_local(|| {
        let intent = black_box(pacer.peek());
        pacer.pop();
        intent
    });
}

fn intent(index: u64) -> Intent {
    Intent {
        index,
        intended: Offset::from_nanos(index * 33_333),
        window: WindowId(0),
        op: Op::Write,
        kind: KindId::FIRST,
        rate: Rate::per_second(30_000),
    }
}

#[divan::bench(sample_size = TOGETHER)]
fn record_a_request(bencher: Bencher<'_, '_>) {
    let mut recorder = Recorder::new(RunnerId(0), Offset::ZERO);
    let mut index = 0;
    bencher.bench_local(|| {
        index += 1;
        let intent = intent(index);
        recorder.sending(&intent);
        let sent = intent.intended.plus(Duration::from_micros(70));
        let done = sent.plus(Duration::from_micros(4_000 + index % 512));
        recorder.finished(
            &Finished { intent: &intent, handed: sent, sent, done, connected: None, hottest: false },
            Outcome::Accepted(Units::from_f64(1.0)),
        );
    });
}

#[divan::bench]
fn close_a_tick(bencher: Bencher<'_, '_>) {
    let mut recorder = Recorder::new(RunnerId(0), Offset::ZERO);
    bencher.bench_local(|| {
        let at = recorder.tick_end();
        let intent = Intent { intended: at, ..intent(1) };
        recorder.sending(&intent);
        let done = at.plus(TICK / 2);
        recorder.finished(
            &Finished { intent: &intent, handed: at, sent: at, done, connected: None, hottest: false },
            Outcome::Accepted(Units::ZERO),
        );
        recorder.close(None, Usage::default())
    });
}

/// The recording of a session that has run for `seconds`.
fn session(seconds: u64) -> Session {
    let mut session = Session::new();
    let rate = Rate::per_second(8_000);
    session.apply(&Entry::Phase { at: Offset::ZERO, phase: Phase::Running });
    session.apply(&Entry::Applied(Setpoint { rate: Some(rate), at: Offset::ZERO }));
    let window = WindowId(0);
    let spec = WindowSpec::steady(window, "8,000/s", Op::Write, rate, Offset::ZERO, None);
    session.apply(&Entry::Open(spec));
    for at in 0..seconds {
        let mut part = Part::of(window);
        let accepted = 4_000 + at * 37 % 100;
        part.counts = Counts {
            offered: 8_000,
            accepted,
            throttled: 8_000 - accepted,
            consumed: Units::from_f64(accepted as f64),
            ..Counts::default()
        };
        let spread = |latency: &mut Latency| (0..100).for_each(|i| latency.record_micros(4_000 + (at * 37 + i * 61) % 100 * 40));
        spread(&mut part.service.accepted);
        spread(&mut part.response.accepted);
        spread(&mut part.service.throttled);
        let bucket =
            Bucket { start: Offset::from_secs(at), parts: vec![part], in_flight: 37, in_flight_max: 60, runners: 1, ..Bucket::default() };
        session.apply(&Entry::Bucket(Box::new(bucket)));
    }
    session
}

#[divan::bench(args = [60, 600, 14_000])]
fn draw_a_frame_of_100_by_30(bencher: Bencher<'_, '_>, seconds: u64) {
    let nothing = |_: &str| None;
    let look = Look { theme: Theme::choose(ThemeChoice::default(), nothing), glyphs: Glyphs::choose(GlyphChoice::default(), nothing) };
    let mut app = App::new(Rate::per_second(500));
    app.observe(session(seconds).recording(Offset::from_secs(seconds)).into());
    let area = Rect::new(0, 0, 100, 30);
    let mut buffer = Buffer::empty(area);
    bencher.bench_local(|| {
        buffer.reset();
        view::draw(black_box(&app), &look, area, &mut buffer);
    });
}
