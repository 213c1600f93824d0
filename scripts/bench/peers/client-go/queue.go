package main

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	queueKeys  = 10000
	queueTimes = 50
	queueDelay = 1000000
)

func keys() []string {
	names := make([]string, queueKeys)
	for i := range names {
		names[i] = fmt.Sprintf("team-%02d/site-%d", i%50, i)
	}
	return names
}

func perKey(start time.Time) float64 {
	return float64(time.Since(start).Nanoseconds()) / (queueKeys * queueTimes)
}

// Nanoseconds a key: one at a time, filled and drained, and beside a million delays that wait.
func measureQueue() {
	names := keys()
	queue := workqueue.NewTyped[string]()
	one := func(add func(string), get func() (string, bool), done func(string)) float64 {
		start := time.Now()
		for range queueTimes {
			for _, name := range names {
				add(name)
				key, _ := get()
				done(key)
			}
		}
		return perKey(start)
	}
	alone := one(queue.Add, queue.Get, queue.Done)
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
	delayed := workqueue.NewTypedDelayingQueue[string]()
	start = time.Now()
	for i := range queueDelay {
		delayed.AddAfter(fmt.Sprintf("later/site-%d", i), time.Hour)
	}
	addAfter := float64(time.Since(start).Nanoseconds()) / queueDelay
	waiting := one(delayed.Add, delayed.Get, delayed.Done)
	say("queue", map[string]any{
		"one_ns": alone, "filled_ns": filled, "add_after_ns": addAfter, "beside_delays_ns": waiting,
	})
	delayed.ShutDown()
	queue.ShutDown()
}
