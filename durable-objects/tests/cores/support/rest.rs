//! Driving everything to rest.

use super::World;

impl World {
    /// Delivers everything in flight, in order, until nothing is. Time stands still.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.in_flight.is_empty() {
                return;
            }
            self.deliver(0);
        }
        panic!("the objects never stop talking");
    }

    /// Lets time pass, with every alarm at its time and every message delivered at once.
    pub fn pass(&mut self, ms: i64) {
        let end_ms = self.now_ms + ms;
        self.settle();
        for _ in 0..100_000 {
            match self.next_alarm() {
                Some((address, at_ms)) if at_ms <= end_ms => {
                    self.now_ms = self.now_ms.max(at_ms);
                    self.fire(&address);
                    self.settle();
                }
                _ => {
                    self.now_ms = end_ms;
                    return;
                }
            }
        }
        panic!("alarms go off forever");
    }
}
