// What redsync's Extend says of a lock that was somebody else's in the meantime, with WithSetNXOnExtend and without it.
//
//	picklock serve redis --servers 3 --listen 127.0.0.1:7391 &
//	(cd drivers/redsync && go run ./extend 127.0.0.1:7391 127.0.0.1:7392 127.0.0.1:7393)
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	var servers []pools.Pool
	for _, address := range os.Args[1:] {
		servers = append(servers, goredis.NewPool(redis.NewClient(&redis.Options{Addr: address})))
	}
	locks := redsync.New(servers...)
	lease := 300 * time.Millisecond
	for _, options := range [][]redsync.Option{nil, {redsync.WithSetNXOnExtend()}} {
		extended, between := 0, 0
		for round := 0; round < 10; round++ {
			name := fmt.Sprintf("orders-%d-%d-%d", os.Getpid(), len(options), round)
			options := append([]redsync.Option{redsync.WithExpiry(lease), redsync.WithTries(1)}, options...)
			a, b := locks.NewMutex(name, options...), locks.NewMutex(name, options...)
			if err := a.Lock(); err != nil {
				panic(err)
			}
			time.Sleep(lease * 3 / 2) // A does not notice that its time is over
			if b.Lock() == nil {
				between++
				_, _ = b.Unlock()
			}
			if ok, _ := a.Extend(); ok {
				extended++
			}
		}
		fmt.Printf("with WithSetNXOnExtend %v: B held in between in %d of 10 rounds, and A's Extend said true after it in %d\n",
			len(options) > 0, between, extended)
	}
}
