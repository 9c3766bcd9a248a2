// Repeats a question: again after a while, later after failures, and never while nobody sees the page.
const slowest = 15000;

export class Poller {
  #timer = 0;
  #running = null;
  #failures = 0;
  #on = false;
  #seen = () => this.#visibility();

  // work(signal) is the question; it may return how many ms to wait this time. failed(err) hears of each failure.
  constructor(work, every, failed = () => {}) {
    this.work = work;
    this.every = every;
    this.failed = failed;
  }

  start() {
    if (this.#on) return;
    this.#on = true;
    document.addEventListener("visibilitychange", this.#seen);
    this.#visibility();
  }

  stop() {
    this.#on = false;
    document.removeEventListener("visibilitychange", this.#seen);
    this.#pause();
  }

  // now asks at once, whatever is being waited for.
  now() {
    this.#failures = 0;
    this.#pause();
    this.#visibility();
  }

  #pause() {
    clearTimeout(this.#timer);
    this.#running?.abort();
    this.#running = null;
  }

  #visibility() {
    if (document.hidden) this.#pause();
    else if (this.#on && this.#running === null) {
      clearTimeout(this.#timer);
      this.#ask();
    }
  }

  async #ask() {
    const running = this.#running = new AbortController();
    let wait = this.every;
    try {
      wait = (await this.work(running.signal)) ?? this.every;
      this.#failures = 0;
    } catch (err) {
      if (running.signal.aborted) return;
      wait = Math.min(slowest, Math.max(1000, this.every) * 2 ** this.#failures++);
      this.failed(err);
    }
    if (running.signal.aborted) return;
    this.#running = null;
    if (this.#on && !document.hidden) this.#timer = setTimeout(() => this.#ask(), wait);
  }
}
