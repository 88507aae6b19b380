//! What holds for any schedule of requests.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
struct Request {
    gap_nanos: u64,
    key: u64,
    kind: Kind,
    halves: u32,
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (0..20_000_000_u64, any::<u64>(), prop_oneof![Just(Kind::Write), Just(Kind::Read)], 1..40_u32)
        .prop_map(|(gap_nanos, key, kind, halves)| Request { gap_nanos, key, kind, halves });
    prop::collection::vec(request, 1..400)
}

fn small_shape(write: u32, read: u32, partitions: usize) -> Shape {
    let normal = Throughput { write, read };
    Shape {
        slices: vec![Slice { weight: 1.0, rates: normal }; partitions],
        normal,
        hold: Duration::from_millis(300),
        splits: vec![Duration::from_millis(200), Duration::from_millis(700)],
        grain: Duration::from_millis(50),
        account: Throughput { write: 900, read: 2_000 },
        ..Shape::default()
    }
}

proptest! {
    #[test]
    fn tokens_never_exceed_the_size_nor_fall_below_zero_and_the_ledger_adds_up(
        schedule in requests(), write in 1..400_u32, read in 1..1_000_u32, partitions in 1..6_usize,
        maximum in prop::option::of(1..500_u32), provisioned in prop::option::of((1..500_u32, 1..500_u32)),
    ) {
        let limits = Limits {
            maximum_write: maximum,
            provisioned: provisioned.map(|(write, read)| Throughput { write, read }),
            ..Limits::default()
        };
        let mut capacity = Capacity::new(small_shape(write, read, partitions), limits);
        let (mut now, mut accepted, mut refused) = (Duration::ZERO, 0_u64, 0_u64);
        for request in &schedule {
            now += Duration::from_nanos(request.gap_nanos);
            match capacity.admit(KeyHash(request.key), request.kind, Units::halves(request.halves), now) {
                Admission::Accepted => accepted += 1,
                Admission::Refused { .. } => refused += 1,
            }
            for bucket in capacity.buckets() {
                prop_assert!(bucket.tokens_nanos() <= bucket.size_nanos());
            }
        }
        let tallies = capacity.tallies();
        prop_assert_eq!(tallies.iter().map(|tally| tally.accepted).sum::<u64>(), accepted);
        prop_assert_eq!(tallies.iter().map(|tally| tally.throttled).sum::<u64>(), refused);
        prop_assert!((tallies.iter().map(|tally| tally.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    /// The bucket against the definition, computed anew from the whole history in integers.
    #[test]
    fn admission_is_exact_over_any_schedule(
        gaps in prop::collection::vec((0..5_000_000_u64, 1..30_u32), 1..300), per_s in 1..5_000_u32, hold_ms in 1..2_000_u64,
    ) {
        let hold = Duration::from_millis(hold_ms);
        let mut bucket = Bucket::full(per_s, hold, Duration::ZERO);
        let size = u128::from(hold_ms) * 1_000_000 * u128::from(per_s);
        let (mut now, mut gained_to, mut expected) = (0_u64, 0_u64, size);
        for (gap, halves) in gaps {
            now += gap;
            expected = (expected + u128::from(now.saturating_sub(gained_to)) * u128::from(per_s)).min(size);
            gained_to = gained_to.max(now);
            bucket.refill(Duration::from_nanos(now));
            let cost = u128::from(halves) * 500_000_000;
            let covers = expected >= cost.min(size);
            prop_assert_eq!(bucket.covers(Units::halves(halves)), covers);
            if covers {
                bucket.take(Units::halves(halves));
                gained_to += cost.saturating_sub(expected).div_ceil(u128::from(per_s)) as u64;
                expected = expected.saturating_sub(cost);
            }
            prop_assert_eq!(bucket.tokens_nanos(), expected);
        }
    }

    /// Over any span, what is admitted is at most what was held plus what was gained: the definition of a rate limit.
    #[test]
    fn a_key_never_gets_more_than_a_partition_gains(schedule in requests(), write in 10..200_u32) {
        let mut capacity = Capacity::new(small_shape(write, write, 1), Limits::default());
        let (mut now, mut halves) = (Duration::ZERO, 0_u64);
        for request in schedule.iter().filter(|request| request.halves <= write / 2) {
            now += Duration::from_nanos(request.gap_nanos);
            if capacity.admit(KeyHash(7), Kind::Write, Units::halves(request.halves), now) == Admission::Accepted {
                halves += u64::from(request.halves);
            }
        }
        let gained = f64::from(write) * (0.3 + now.as_secs_f64());
        prop_assert!(halves as f64 / 2.0 <= gained + 1e-6);
    }

    #[test]
    fn hash_ranges_cover_the_ring_whatever_the_weights(weights in prop::collection::vec(1..1_000_u32, 1..50)) {
        let rates = Throughput { write: 1, read: 1 };
        let total: f64 = weights.iter().copied().map(f64::from).sum();
        let slices = weights.iter().map(|&weight| Slice { weight: f64::from(weight), rates }).collect();
        let capacity = Capacity::new(Shape { slices, ..Shape::default() }, Limits::default());
        for (tally, weight) in capacity.tallies().iter().zip(&weights) {
            prop_assert!((tally.share - f64::from(*weight) / total).abs() < 1e-9);
        }
    }
}

fn admitted(capacity: &mut Capacity, key: KeyHash, kind: Kind, tries: u32, now: Duration) -> u32 {
    (0..tries).filter(|_| capacity.admit(key, kind, Units::whole(1), now) == Admission::Accepted).count() as u32
}

#[test]
fn a_refused_request_takes_no_tokens() {
    let mut capacity = Capacity::new(Shape::default(), Limits::default());
    assert_eq!(capacity.admit(KeyHash(0), Kind::Write, Units::whole(999), Duration::ZERO), Admission::Accepted);
    assert_eq!(capacity.admit(KeyHash(0), Kind::Write, Units::whole(2), Duration::ZERO), Admission::Refused { cause: Cause::KeyRange });
    assert_eq!(capacity.admit(KeyHash(0), Kind::Write, Units::whole(1), Duration::ZERO), Admission::Accepted);
}

#[test]
fn a_split_gives_each_child_half_the_tokens() {
    let splits = vec![Duration::from_secs(1)];
    let mut capacity = Capacity::new(Shape { splits, ..Shape::default() }, Limits::default());
    // The first quarter has 600 tokens left after half a second, and the refusal that is one too many splits it.
    assert_eq!(admitted(&mut capacity, KeyHash(0), Kind::Write, 1_000, Duration::ZERO), 1_000);
    let now = Duration::from_millis(600);
    assert_eq!(capacity.admit(KeyHash(0), Kind::Write, Units::whole(601), now), Admission::Refused { cause: Cause::KeyRange });
    assert_eq!(capacity.partitions(), 5);
    assert_eq!(admitted(&mut capacity, KeyHash(0), Kind::Write, 1_000, now), 300);
    assert_eq!(admitted(&mut capacity, KeyHash(1 << 61), Kind::Write, 1_000, now), 300);
    assert_eq!(admitted(&mut capacity, KeyHash(1 << 62), Kind::Write, 2_000, now), 1_000, "the neighbour is not touched");
    // Afterwards they refill and hold as any partition does.
    let later = now + Duration::from_secs(5);
    assert_eq!(admitted(&mut capacity, KeyHash(0), Kind::Write, 2_000, later), 1_000);
}

#[test]
fn requests_larger_than_the_bucket_get_the_rate_too() {
    let limits = Limits { maximum_write: Some(2), ..Limits::default() };
    let mut capacity = Capacity::new(Shape::default(), limits);
    let mut tries = (0..1_000).map(|i| Duration::from_millis(i * 100));
    let accepted = tries.by_ref().filter(|now| capacity.admit(KeyHash(0), Kind::Write, Units::whole(10), *now) == Admission::Accepted);
    // 10 units at 2 a second: one every 5 s.
    assert_eq!(accepted.count(), 20);
}

#[test]
fn read_and_write_units_are_independent() {
    let mut capacity = Capacity::new(Shape::default(), Limits::default());
    assert_eq!(admitted(&mut capacity, KeyHash(0), Kind::Write, 5_000, SECOND), 1_000);
    assert_eq!(admitted(&mut capacity, KeyHash(0), Kind::Read, 5_000, SECOND), 3_000);
}

#[test]
fn each_limit_refuses_in_its_own_name() {
    let cause = |limits: Limits, tries: u32| {
        let shape = Shape { account: Throughput { write: 2_500, read: 40_000 }, ..Shape::default() };
        let mut capacity = Capacity::new(shape, limits);
        (0..tries).find_map(|i| {
            let key = KeyHash(u64::from(i) << 62);
            match capacity.admit(key, Kind::Write, Units::whole(1), Duration::ZERO) {
                Admission::Accepted => None,
                Admission::Refused { cause } => Some((i, cause)),
            }
        })
    };
    assert_eq!(cause(Limits::default(), 2_500), None);
    assert_eq!(cause(Limits::default(), 2_501), Some((2_500, Cause::Account)));
    assert_eq!(cause(Limits { maximum_write: Some(400), ..Limits::default() }, 500), Some((400, Cause::Maximum)));
    let provisioned = Some(Throughput { write: 300, read: 10 });
    assert_eq!(cause(Limits { provisioned, ..Limits::default() }, 500), Some((300, Cause::Provisioned)));
}

#[test]
fn provisioned_capacity_keeps_what_is_unused_for_300_seconds() {
    let provisioned = Some(Throughput { write: 2, read: 2 });
    let mut capacity = Capacity::new(Shape::default(), Limits { provisioned, ..Limits::default() });
    assert_eq!(admitted(&mut capacity, KeyHash(0), Kind::Write, 900, Duration::ZERO), 2, "a new table has left nothing unused");
    assert_eq!(admitted(&mut capacity, KeyHash(0), Kind::Write, 900, Duration::from_secs(100)), 200);
    assert_eq!(admitted(&mut capacity, KeyHash(0), Kind::Write, 900, Duration::from_secs(1_000)), 600);
}

#[test]
fn warm_throughput_raises_the_number_of_partitions() {
    let warm = |write, read| Limits { warm: Throughput { write, read }, ..Limits::default() };
    let partitions = |limits| Capacity::new(Shape::default(), limits).partitions();
    assert_eq!(partitions(warm(4_000, 12_000)), 4);
    assert_eq!(partitions(warm(4_001, 12_000)), 5);
    assert_eq!(partitions(warm(4_000, 30_000)), 10);
    let mut capacity = Capacity::new(Shape::default(), Limits::default());
    admitted(&mut capacity, KeyHash(0), Kind::Write, 10, Duration::ZERO);
    capacity.set_limits(warm(8_000, 0), SECOND);
    assert_eq!((capacity.partitions(), capacity.warm_throughput()), (8, Throughput { write: 8_000, read: 24_000 }));
    assert_eq!(capacity.tallies().iter().map(|tally| tally.accepted).sum::<u64>(), 10, "the ledger survives");
}
