//! How long a load lasts and how much of it is due: the same options for every experiment with a load.
//!
//! | typed | the load | the response |
//! |---|---|---|
//! | nothing | a fixed amount of work, as fast as it goes | elapsed time |
//! | `--seconds S` | as much as can be done in S seconds | throughput |
//! | `--rate N` | N pieces a second are due | mean latency, from when a piece was due |
//!
//! With a rate that all levels can serve, elapsed time and throughput are those of the rate and say nothing;
//! a latency that counts from when its piece was due includes what waited behind a stall (no coordinated
//! omission).

use super::load::{End, Worked};
use clap::Args;
use furrow_lab::experiment::OptionsError;
use furrow_lab::results::{Better, Response, Run};
use std::collections::BTreeMap;

/// What may be typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Args)]
pub struct Pace {
    /// Seconds that the load of a run lasts; the response is then the throughput [default: until the work is
    /// done]
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,
    /// Transactions (or scripts) a second that are due, of all sessions together; the response is then the
    /// mean latency, counted from when each was due [default: as fast as they can]
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
}

impl Pace {
    /// Whether a load can be run so.
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        let refuse = |text: &str| Err(OptionsError(text.to_owned()));
        if self
            .seconds
            .is_some_and(|seconds| !(0.1..=86_400.0).contains(&seconds))
        {
            return refuse("--seconds must be from 0.1 to 86400");
        }
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
            return refuse("--rate must be above 0");
        }
        Ok(())
    }

    /// When a load of so much work ends.
    pub(crate) fn end(&self, units: u64) -> End {
        match self.seconds {
            None => End::Units(units),
            Some(seconds) => End::Within { seconds, units },
        }
    }

    /// Seconds that a load lasts which would take so long unpaced, with so many pieces.
    pub(crate) fn forecast_s(&self, unpaced_s: f64, pieces: f64) -> f64 {
        let due_s = self.rate.map_or(0.0, |rate| pieces / rate);
        let long = unpaced_s.max(due_s);
        self.seconds.map_or(long, |seconds| seconds.min(long))
    }

    /// The response of such a load; `unit` is the word for what a rate counts.
    pub(crate) fn response(&self, unit: &str) -> Response {
        let (name, unit, better) = match (self.rate, self.seconds) {
            (Some(_), _) => ("mean latency", "ms".to_owned(), Better::Lower),
            (None, Some(_)) => ("throughput", format!("{unit}/s"), Better::Higher),
            (None, None) => ("elapsed time", "s".to_owned(), Better::Lower),
        };
        Response {
            name: name.to_owned(),
            unit,
            better,
        }
    }

    /// Sets the response of a run.
    pub(crate) fn respond(&self, run: &mut Run, worked: &Worked) {
        run.response = Some(match (self.rate, self.seconds) {
            (Some(_), _) => worked.latency.mean() / 1e3,
            (None, Some(_)) => worked.units as f64 / worked.seconds,
            (None, None) => worked.seconds,
        });
    }

    /// For the sentence about the load: `, for 10 s, 500 a second due`.
    pub(crate) fn words(&self) -> String {
        let seconds = self.seconds.map(|seconds| format!(", for {seconds} s"));
        let rate = self.rate.map(|rate| format!(", {rate} a second due"));
        [seconds, rate].into_iter().flatten().collect()
    }

    /// Puts it among the settings that a plan records.
    pub(crate) fn record(&self, settings: &mut BTreeMap<String, String>) {
        for (name, value) in [("seconds", self.seconds), ("rate", self.rate)] {
            settings.extend(value.map(|value| (name.to_owned(), value.to_string())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_is_what_the_pace_leaves_open() {
        let pace = |seconds, rate| Pace { seconds, rate };
        let unit = |pace: Pace| pace.response("rows").unit;
        assert_eq!(unit(pace(None, None)), "s");
        assert_eq!(unit(pace(Some(5.0), None)), "rows/s");
        assert_eq!(unit(pace(None, Some(9.0))), "ms");
        assert_eq!(unit(pace(Some(5.0), Some(9.0))), "ms");
        assert_eq!(pace(None, None).end(7), End::Units(7));
        let within = End::Within {
            seconds: 5.0,
            units: 7,
        };
        assert_eq!(pace(Some(5.0), None).end(7), within);
        assert_eq!(pace(None, Some(10.0)).forecast_s(3.0, 100.0), 10.0);
        assert_eq!(pace(Some(4.0), Some(10.0)).forecast_s(3.0, 100.0), 4.0);
        assert!(pace(Some(0.0), None).check().is_err() && pace(None, Some(-1.0)).check().is_err());
        assert_eq!(
            pace(Some(4.0), Some(10.0)).words(),
            ", for 4 s, 10 a second due"
        );
    }
}
