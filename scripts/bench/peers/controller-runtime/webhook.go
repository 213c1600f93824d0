package main

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type checker struct{}

func (checker) check(site *Website) (admission.Warnings, error) {
	if site.Spec.Replicas > 10 {
		return nil, fmt.Errorf("spec.replicas: at most 10")
	}
	return nil, nil
}

func (c checker) ValidateCreate(_ context.Context, site *Website) (admission.Warnings, error) {
	return c.check(site)
}

func (c checker) ValidateUpdate(_ context.Context, _, site *Website) (admission.Warnings, error) {
	return c.check(site)
}

func (checker) ValidateDelete(context.Context, *Website) (admission.Warnings, error) {
	return nil, nil
}

type defaulter struct{}

func (defaulter) Default(_ context.Context, site *Website) error {
	if site.Spec.Replicas == 0 {
		site.Spec.Replicas = 1
	}
	if site.Labels == nil {
		site.Labels = map[string]string{}
	}
	site.Labels["bench"] = "yes"
	return nil
}

// Paths as kubebuilder's, which Perilune has, too.
func setupWebhook(m manager.Manager) error {
	server := m.GetWebhookServer()
	server.Register("/validate-example-com-v1-website", admission.WithValidator[*Website](m.GetScheme(), checker{}))
	server.Register("/mutate-example-com-v1-website", admission.WithDefaulter[*Website](m.GetScheme(), defaulter{}))
	return nil
}

func webhookServer() webhook.Server {
	return webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certDir})
}
