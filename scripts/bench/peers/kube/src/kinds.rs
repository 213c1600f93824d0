//! What is watched, and the numbers in it that change.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Condition};
use kube::{CustomResource, ResourceExt, api::DynamicObject};
use serde::{Deserialize, Serialize};

pub const SENTINEL: i64 = 1_999_999_999;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Website", namespaced, status = "WebsiteStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct WebsiteSpec {
    pub revision: i64,
    pub domain: String,
    pub image: String,
    pub replicas: i32,
    pub resources: Quantities,
    pub tls: Tls,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Quantities {
    pub limits: BTreeMap<String, String>,
    pub requests: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Tls {
    pub enabled: bool,
    pub issuer: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteStatus {
    pub observed_revision: i64,
    pub conditions: Vec<Condition>,
    pub observed_generation: i64,
    pub ready_replicas: i32,
    pub url: String,
}

pub trait Bench {
    /// What changes in an object, and what the controller has answered.
    fn revisions(&self) -> (i64, i64);
    /// Looks at three fields.
    fn touch(&self) -> bool;
}

impl Bench for Website {
    fn revisions(&self) -> (i64, i64) {
        (self.spec.revision, self.status.as_ref().map_or(0, |s| s.observed_revision))
    }

    fn touch(&self) -> bool {
        !self.name_any().is_empty() && self.namespace().is_some() && self.status.is_some()
    }
}

impl Bench for Pod {
    fn revisions(&self) -> (i64, i64) {
        (0, 0)
    }

    fn touch(&self) -> bool {
        self.metadata.name.is_some()
            && self.metadata.namespace.is_some()
            && self.status.as_ref().is_some_and(|s| s.phase.is_some())
    }
}

impl Bench for DynamicObject {
    fn revisions(&self) -> (i64, i64) {
        let number = |path| self.data.pointer(path).and_then(serde_json::Value::as_i64).unwrap_or(0);
        (number("/spec/revision"), number("/status/observedRevision"))
    }

    fn touch(&self) -> bool {
        self.metadata.name.is_some() && self.metadata.namespace.is_some() && self.data.pointer("/status/phase").is_some()
    }
}
