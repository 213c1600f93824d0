//! Flags, as all peers have them.

use anyhow::{Context, Result, bail};

pub struct Args {
    pub server: String,
    pub ca: Option<String>,
    pub case: String,
    pub kind: String,
    pub variant: String,
    pub workers: u16,
    pub count: i64,
    pub rounds: u32,
    pub watch_list: bool,
    pub keep_managed_fields: bool,
}

impl Args {
    pub fn parse() -> Result<Self> {
        let mut args = Args {
            server: String::new(),
            ca: None,
            case: "sync".into(),
            kind: "websites".into(),
            variant: "typed".into(),
            workers: 1,
            count: 0,
            rounds: 1,
            watch_list: false,
            keep_managed_fields: false,
        };
        let mut given = std::env::args().skip(1);
        while let Some(name) = given.next() {
            match name.as_str() {
                "--watch-list" => args.watch_list = true,
                "--keep-managed-fields" => args.keep_managed_fields = true,
                _ => {
                    let value = given.next().with_context(|| format!("{name} needs a value"))?;
                    args.set(&name, value)?;
                }
            }
        }
        Ok(args)
    }

    fn set(&mut self, name: &str, value: String) -> Result<()> {
        match name {
            "--server" => self.server = value,
            "--ca" => self.ca = Some(value),
            "--case" if ["sync", "churn", "latency", "list"].contains(&value.as_str()) => self.case = value,
            "--kind" => self.kind = value,
            "--variant" => self.variant = value,
            "--workers" => self.workers = value.parse()?,
            "--count" => self.count = value.parse()?,
            "--rounds" => self.rounds = value.parse()?,
            _ => bail!("{name} {value} is not understood"),
        }
        Ok(())
    }
}
