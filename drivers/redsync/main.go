// redsync under `picklock try`: takes a lock again and again, and says to the witness when it is in.
//
//	(cd drivers/redsync && go build)
//	picklock try -- drivers/redsync/redsync
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	leaseMs, _ := strconv.Atoi(os.Getenv("PICKLOCK_LEASE_MS"))
	lease := time.Duration(leaseMs) * time.Millisecond
	patience := 100 * time.Millisecond // of a server's answer; 0: without an end
	if given, err := strconv.Atoi(os.Getenv("PATIENCE_MS")); err == nil {
		patience = time.Duration(given) * time.Millisecond
	}
	if patience == 0 {
		patience = -1 // as the library says it
	}
	var servers []pools.Pool
	for _, address := range strings.Split(os.Getenv("PICKLOCK_REDIS"), ",") {
		servers = append(servers, goredis.NewPool(redis.NewClient(&redis.Options{
			Addr: address, ReadTimeout: patience, WriteTimeout: patience, DialTimeout: time.Second, MaxRetries: -1,
		})))
	}
	witness, err := net.Dial("tcp", os.Getenv("PICKLOCK_WITNESS"))
	if err != nil {
		panic(err)
	}
	answers := bufio.NewScanner(witness)
	// Says it, and waits until it was heard.
	say := func(line string) string {
		fmt.Fprintln(witness, line)
		answers.Scan()
		return answers.Text()
	}
	locks := redsync.New(servers...)
	for say("want orders") == "ok" {
		lock := locks.NewMutex("orders", redsync.WithExpiry(lease), redsync.WithTries(1))
		if lock.Lock() != nil {
			time.Sleep(time.Duration(rand.Intn(20)) * time.Millisecond)
			continue
		}
		say("enter orders")
		time.Sleep(lease/10 + time.Duration(rand.Int63n(int64(lease)*3/10)))
		say("write orders") // this library has no token that the write could carry
		say("leave orders")
		_, _ = lock.Unlock()
	}
}
