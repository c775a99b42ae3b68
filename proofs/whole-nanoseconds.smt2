; T2 with the readings that there are: a reading is the clock's value cut off to whole nanoseconds, deadlines are integers,
; and `now < deadline` compares readings. At the owner that is harmless: it ends no later than D_P after its clock's true
; value. An acceptor may lose up to a nanosecond of the exclusion, because its clock had passed the reading. It is made up
; for by the message, which takes at least that between the two readings. (A node's own acceptor reads the owner's clock.)
(set-logic QF_NRA)
(declare-const rho Real)
(declare-const d_p Real)
(declare-const d_a Real)
(declare-const owner-value Real)      ; the owner's clock when it read it before Prepare
(declare-const owner-reading Real)    ; ... and what it read
(declare-const acceptor-value Real)   ; the acceptor's when it accepted
(declare-const acceptor-reading Real)
(declare-const prepared Real)         ; real times of the two readings, in ns
(declare-const accepted Real)
(declare-const t Real)                ; an instant at which the owner acts and the acceptor excludes nobody
(declare-const owner-passed Real)     ; what the clocks count up to then
(declare-const acceptor-passed Real)
(assert (and (<= 0.0 rho) (< rho 1.0) (> d_p 0.0) (> d_a 0.0)))
(assert (and (<= owner-reading owner-value) (< owner-value (+ owner-reading 1.0))))
(assert (and (<= acceptor-reading acceptor-value) (< acceptor-value (+ acceptor-reading 1.0))))
(assert (<= (* d_p (+ 1.0 rho)) (* d_a (- 1.0 rho))))
(assert (<= accepted t))
(assert (>= owner-passed (* (- 1.0 rho) (- t prepared))))       ; no slower than allowed
(assert (<= acceptor-passed (* (+ 1.0 rho) (- t accepted))))    ; no faster
; A reading cut off is below an integer deadline just when the value is.
(assert (< (+ owner-value owner-passed) (+ owner-reading d_p)))
(assert (>= (+ acceptor-value acceptor-passed) (+ acceptor-reading d_a)))

; Instances of product-order.smt2, with 1 + rho > 0 and 1 - rho > 0.
(define-fun slow () Real (- 1.0 rho))
(define-fun fast () Real (+ 1.0 rho))
(assert (=> (< (* slow (- t prepared)) d_p) (< (* (* slow (- t prepared)) fast) (* d_p fast))))
(assert (=> (< (- d_a 1.0) (* fast (- t accepted)))
            (< (* (- d_a 1.0) slow) (* (* fast (- t accepted)) slow))))
(assert (=> (<= (+ prepared 1.0) accepted)
            (<= (* (* fast (- t accepted)) slow) (* (* fast (- (- t prepared) 1.0)) slow))))

; Claim: there is none.
(push 1)
(assert (>= accepted (+ prepared 1.0)))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: the message takes no time.
(push 1)
(assert (>= accepted prepared))
(set-info :status sat)
(check-sat)
(pop 1)
