; T2, T3: lh_timing_covers is true exactly when ttl (1 + rho) <= cover (1 - rho); so the assertion in machine_acceptor.c
; and the lines of `leaseholdd --config-test` say what they mean. It compares with the stretched TTL, of which
; exclusion-rounds.smt2 proves the two inequalities assumed here. Of the product with 1 - rho only its order is needed.
(set-logic QF_UFLIA)
(declare-const slow Int)           ; ttl * (ppm + rate)
(declare-fun product (Int) Int)    ; d * (ppm - rate)
(declare-const least Int)          ; (stretch rate ttl)
(declare-const cover Int)
(assert (<= slow (product least)))
(assert (> slow (product (- least 1))))
; Instances of product-order.smt2, with ppm - rate > 0.
(assert (=> (<= least cover) (<= (product least) (product cover))))
(assert (=> (<= cover (- least 1)) (<= (product cover) (product (- least 1)))))

; Claim.
(push 1)
(assert (not (= (>= cover least) (<= slow (product cover)))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: more than the stretched TTL.
(push 1)
(assert (not (= (> cover least) (<= slow (product cover)))))
(set-info :status sat)
(check-sat)
(pop 1)
