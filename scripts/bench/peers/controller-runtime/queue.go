package main

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

const (
	queueKeys  = 10000
	queueTimes = 20
	queueDelay = 1000000
)

func perKey(start time.Time) float64 {
	return float64(time.Since(start).Nanoseconds()) / (queueKeys * queueTimes)
}

func oneAtATime(queue priorityqueue.PriorityQueue[string], names []string) float64 {
	start := time.Now()
	for range queueTimes {
		for _, name := range names {
			queue.Add(name)
			key, _ := queue.Get()
			queue.Done(key)
		}
	}
	return perKey(start)
}

// Nanoseconds a key through the default queue: one at a time, filled and drained, and beside a million
// delays that wait.
func measureQueue() {
	names := make([]string, queueKeys)
	for i := range names {
		names[i] = fmt.Sprintf("team-%02d/site-%d", i%50, i)
	}
	queue := priorityqueue.New[string]("one")
	alone := oneAtATime(queue, names)
	start := time.Now()
	for range queueTimes {
		for _, name := range names {
			queue.Add(name)
		}
		for range names {
			key, _ := queue.Get()
			queue.Done(key)
		}
	}
	filled := perKey(start)
	delayed := priorityqueue.New[string]("delayed")
	start = time.Now()
	for i := range queueDelay {
		delayed.AddAfter(fmt.Sprintf("later/site-%d", i), time.Hour)
	}
	addAfter := float64(time.Since(start).Nanoseconds()) / queueDelay
	say("queue", map[string]any{
		"one_ns": alone, "filled_ns": filled, "add_after_ns": addAfter,
		"beside_delays_ns": oneAtATime(delayed, names),
	})
	delayed.ShutDown()
	queue.ShutDown()
}
