//! How much memory the machine has.

/// Taken for it where the system does not say.
const ASSUMED_SIZE: u64 = 4 << 30;

/// The machine's memory in bytes.
pub fn memory_size() -> u64 {
    std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text)).unwrap_or(ASSUMED_SIZE)
}

fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_in_what_linux_says() {
        assert_eq!(total("MemTotal:       16 kB\nMemFree: 3 kB\n"), Some(16_384));
        assert_eq!(total("nothing"), None);
    }
}
