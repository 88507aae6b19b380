//! An independent judge: nginx's `limit_req`, whose rate and burst are known and which shares nothing with the program,
//! stands in front of a server that accepts everything. The instrument must find both.

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::support::{Ended, Peer, installed, measure};

/// Writes per second that the judge lets through. It adds `rate x whole milliseconds / 1000` thousandths of a request
/// each time, so that a whole number of requests per second is enforced exactly.
const RATE: f64 = 400.0;
/// What it lets through at once on top.
const BURST: f64 = 200.0;

/// One process, so that ending it ends all of it. Only writes are limited; whatever else has an empty key.
fn configuration(port: &str, behind: &str) -> String {
    format!(
        r#"daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  map $http_x_amz_target $limited {{
    default "";
    DynamoDB_20120810.PutItem writes;
  }}
  limit_req_zone $limited zone=table:1m rate={RATE}r/s;
  limit_req_status 429;
  upstream behind {{
    server {behind};
    keepalive 256;
  }}
  server {{
    listen 127.0.0.1:{port};
    keepalive_requests 1000000;
    keepalive_timeout 1h;
    limit_req zone=table burst={BURST} nodelay;
    error_page 429 =400 @throttled;
    location / {{
      proxy_pass http://behind;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
    }}
    location @throttled {{
      default_type application/x-amz-json-1.0;
      return 400 '{{"__type":"com.amazon.coral.availability#ThrottlingException","message":"Rate exceeded"}}';
    }}
  }}
}}
"#
    )
}

fn in_front_of(peer: &Peer, nginx: &OsStr) -> Peer {
    let behind = peer.url.trim_start_matches("http://");
    Peer::start(|port, directory| {
        std::fs::write(directory.join("nginx.conf"), configuration(port, behind)).expect("written");
        let mut command = Command::new(nginx);
        command.args(["-e", "stderr", "-p"]).arg(directory).arg("-c").arg(directory.join("nginx.conf"));
        command
    })
}

/// A figure of a window or of the session's verdict is the truth, wherever it is stated; whether it is.
fn is_true(of: &Value, figure: &str, truth: f64, within: f64) -> bool {
    let stated = of[figure].as_f64();
    assert!(stated.is_none_or(|stated| (stated / truth - 1.0).abs() <= within), "{figure} is {truth}, and the session says {of}");
    stated.is_some()
}

/// Whether rate and burst are stated; they are never stated wrong.
fn both_found(of: &Value, sustained: &str, burst: &str) -> bool {
    is_true(of, sustained, RATE, 0.01) & is_true(of, burst, BURST, 0.10)
}

fn is_client_saturated(judged: &Value) -> bool {
    judged["caveats"].as_array().is_some_and(|caveats| caveats.iter().any(|caveat| caveat == "client-saturated"))
}

/// What a session found, all of it true.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// No window states both figures.
    Nothing,
    /// A window does, but the client was short, and the session leaves open whose limit it was.
    Figures,
    /// The session states both, and that the limit was the service's.
    All,
}

fn found(ended: &Ended) -> Found {
    ended.is_complete();
    assert_eq!((ended.total("failed"), ended.total("timed_out")), (0, 0), "{}", ended.said);
    let throttle = &ended.document["throttles"][0];
    assert_eq!((&throttle["code"], &throttle["http_status"]), (&"ThrottlingException".into(), &400.into()));
    let mut found = Found::Nothing;
    for window in ended.document["windows"].as_array().expect("windows") {
        if both_found(window, "sustained_per_s", "burst_units") {
            found = Found::Figures;
        }
        if window["verdict"] != "service-bound" {
            assert!(is_client_saturated(window), "{window}");
            continue;
        }
        // The bucket, which holds one request more than the burst, runs out at what is offered above the rate.
        let runs_out = (BURST + 1.0) / (window["offered_per_s"].as_f64().expect("a rate") - RATE);
        let first = window["first_throttle_s"].as_f64().expect("a throttle");
        // Requests that leave a little late come to a bucket that is a little fuller.
        assert!((runs_out - 0.1..=runs_out + 0.4).contains(&first), "first throttle after {runs_out} s: {window}");
    }
    let verdict = &ended.document["verdict"];
    let stated = both_found(verdict, "sustained_per_s", "burst_units");
    if stated && verdict["kind"] == "service-bound" { Found::All } else { found }
}

#[test]
fn the_rate_and_the_burst_of_a_limiter_that_others_wrote_are_found() {
    let (Some(nginx), Some(peer)) = (installed("THROTTLESCOPE_NGINX"), Peer::dynoxide()) else { return };
    let judge = in_front_of(&peer, &nginx);
    let plan = "name = \"judge\"\nwindow = \"8s\"\npause = \"2s\"\nrates = [600, 800]\n";
    let mut most = Found::Nothing;
    // Where the machine is too busy for this pace the session says so, and is measured again.
    for _ in 0..3 {
        let ended = measure(&judge.url, Some(plan), "");
        assert_eq!(peer.tables(), Vec::<String>::new());
        most = most.max(found(&ended));
        if most == Found::All {
            return;
        }
        writeln!(std::io::stderr(), "the client was short, and said so: {}", ended.document["verdict"]).expect("standard error");
    }
    assert!(most == Found::Figures, "neither rate nor burst was stated");
}
