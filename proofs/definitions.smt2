; What the proofs about our own arithmetic share: src/lease/timing.c and src/base/time.h, function by function, over the
; integers. tools/prove puts this before the files that say so, and compares it with the compiled functions themselves on
; thousands of values.
;
; Everything here is at least zero, where / and % of C are div and mod.
(define-fun ppm () Int 1000000)                        ; LH_PPM
(define-fun rate-min () Int 1)                         ; LH_RATE_PPM_MIN
(define-fun rate-max () Int 100000)                    ; LH_RATE_PPM_MAX
(define-fun ttl-min () Int 50000000)                   ; LH_TTL_MIN_MS, in ns
(define-fun ttl-max () Int 3600000000000)              ; LH_TTL_MAX_MS, in ns
(define-fun int64-max () Int 9223372036854775807)      ; INT64_MAX, also LH_NEVER

; value * numerator / denominator, as scale() of timing.c forms it from a quotient and a remainder.
(define-fun scale-rest ((value Int) (numerator Int) (denominator Int)) Int
  (* (mod value denominator) numerator))
(define-fun scale ((value Int) (numerator Int) (denominator Int)) Int
  (+ (* (div value denominator) numerator) (div (scale-rest value numerator denominator) denominator)))
(define-fun inexact ((value Int) (numerator Int) (denominator Int)) Bool
  (not (= (mod (scale-rest value numerator denominator) denominator) 0)))

; stretch(): lh_timing_exclusion (D_A) and lh_timing_quarantine (Q).
(define-fun stretch ((rate Int) (span Int)) Int
  (+ (scale span (+ ppm rate) (- ppm rate)) (ite (inexact span (+ ppm rate) (- ppm rate)) 1 0)))
; lh_timing_shrink.
(define-fun shrink ((rate Int) (span Int)) Int (scale span (- ppm rate) (+ ppm rate)))
; lh_timing_covers.
(define-fun covers ((rate Int) (ttl Int) (cover Int)) Bool (>= cover (stretch rate ttl)))

; lh_after: t + d, saturating at LH_NEVER.
(define-fun after ((t Int) (d Int)) Int (ite (> d (- int64-max t)) int64-max (+ t d)))
; lh_later.
(define-fun later ((a Int) (b Int)) Int (ite (< a b) b a))
